# SPDX-License-Identifier: GPL-3.0-or-later
# Voltages that known gains have distorted are correlated and calibrated: the table that is found says what distorted them, and
# voltages divided by it are those of the sky. The chain by streams has no sign in common with how Measurement Sets are written.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

two_sources 3000 1000 >sky.txt
centre='02h28m00s -26d42m00s'
# gains NAME SIGN: amplitudes and phases of each antenna and receptor, or what undoes them.
gains() {
  awk -v sign="$1" 'BEGIN {
    print "antenna,pol,gain_amplitude,phase_rad"
    for (ant = 0; ant < 32; ++ant)
      for (pol = 0; pol < 2; ++pol) {
        size = 1 + 0.3 * sin(3 * ant + pol); phase = 2 * sin(5 * ant + 2 * pol)
        printf "%d,%d,%.12g,%.12g\n", ant, pol, (sign > 0 ? size : 1 / size), sign * phase
      }
  }' </dev/null
}
gains 1 >true.csv
gains -1 >inverse.csv # data divided by this are those of antennas with the true gains
run simulate -q --array mwa-32t --sky sky.txt --noise 2000Jy --bits 32 --duration 100ms -o sky.dada
run correlate -q sky.dada --channels 8 --integration 50ms --gains inverse.csv --phase-centre "$centre" -o raw.vis
run correlate -q sky.dada --channels 8 --integration 50ms --gains inverse.csv --phase-centre "$centre" -o raw.ms

# expect_gains FILE WHAT: those of true.csv, after the phases have been referred to antenna 0, within 3 %.
expect_gains() {
  join -t, <(grep '^[0-9T]' true.csv | sed 's/,/-/' | sort) <(
    awk -F, '/^Tile|^[0-9]/ { name = $1; sub(/^Tile0*/, "", name)
      if (!(name in number)) number[name] = n++
      print number[name] "-" $2 "," $3 "," $4 }' "$1" | sort) |
    awk -F, '
      { split($1, of, "-"); size[$1] = $4 / $2; phase[$1] = $5 - $3; if (of[1] == 0) zero[of[2]] = phase[$1]; ++n }
      END {
        for (i in size) {
          split(i, of, "-"); d = phase[i] - zero[of[2]]; d = atan2(sin(d), cos(d)); e = size[i] - 1
          if (d < 0) d = -d
          if (e < 0) e = -e
          if (d > worst) worst = d
          if (e > worst) worst = e
        }
        printf "%d gains, the worst off by %.4f", n, worst; exit !(n == 64 && worst < 0.03)
      }' >gains.txt || fail "$2: $(cat gains.txt)"
}
run calibrate raw.vis --sky sky.txt --solve gain:channels=all --reference-antenna 0 -o stream.csv
expect_gains stream.csv "gains from a stream"
run calibrate raw.ms --sky sky.txt --solve gain:channels=all --reference-antenna 0 -o set.h5 --export set.csv
expect_gains set.csv "gains from a Measurement Set"
run bash -c 'set -o pipefail; calibrate - --sky sky.txt --solve gain:channels=all --reference-antenna 0 -o piped.csv <raw.vis'
expect_gains piped.csv "gains from a pipe"
run calibrate set.h5 --export again.csv
expect_gains again.csv "gains out of an H5Parm"

# The table takes the distortion out of the voltages again: what is left are gains of 1.
run correlate -q sky.dada --channels 8 --integration 50ms --phase-centre "$centre" -o sky.ms
run calibrate sky.ms --sky sky.txt --solve gain:channels=all -o one.csv --reference-antenna 0
awk -F, '/^(Tile|[0-9])/ { a = $3 - 1; p = $4; if (a * a > 0.0009 || p * p > 0.0009) bad = bad " " $0; ++n } END { print bad; exit bad != "" || n != 64 }' one.csv >bad.txt ||
  fail "undistorted data have gains other than 1: $(cat bad.txt)"

# Cables: antennas whose delays the table leaves out. What calibrate finds is less than 0 where the cable is longer.
run simulate -q --array "$APSYN_SOURCE/tests/data/1090008640.metafits" --sky sky.txt --noise 20000Jy --bits 8 --duration 20ms -o cables.dada
antennas() { head -c 65536 cables.dada | tr -d '\0' | sed -n 's/^ANT_[0-9][0-9]* *//p'; }
{ echo '# site -26.703319 116.670815 377.827' && echo name,east_m,north_m,up_m && antennas | cut -d, -f1-4; } >antennas.csv
run correlate -q cables.dada --antennas antennas.csv --channels 32 --integration 20ms --phase-centre "$centre" -o cables.vis
run calibrate -q cables.vis --sky sky.txt --solve delay --reference-antenna 0 -o delays.h5 --report delays.json
paste -d' ' <(antennas | awk -F, '{ print $1, $5 }') \
  <(sed -n 's/.*"antenna": "\([^"]*\)", "polarisation": 0.*"delay_s": \([-0-9.e+]*\).*/\1 \2/p' delays.json) |
  awk '
    NR == 1 { first = $2 }
    { if ($1 != $3) bad = 1
      d = ($2 - first) + 1e9 * $4; if (d < 0) d = -d; if (d > worst) worst = d
      c = $2 - first; if (c < 0) c = -c; if (c > longest) longest = c }
    END { printf "%d delays, the worst off by %.2f ns of up to %.0f", NR, worst, longest; exit !(NR == 128 && !bad && longest > 500 && worst < 40) }' >delays.txt ||
  fail "cables: $(cat delays.txt)"

# As gains of each channel they make an image of the voltages.
run calibrate -q cables.vis --sky sky.txt --solve delay --solve gain:channels=all -o cables.h5 --export bandpass.csv --export-channels 32
run correlate -q cables.dada --antennas antennas.csv --channels 32 --integration 20ms --phase-centre "$centre" --bandpass bandpass.csv -o calibrated.vis
for name in cables calibrated; do
  run idg-grid -q --size 256 --scale 3amin --maxuv-l 500 --weight natural --no-psf -o $name $name.vis
  run quicklook -q --stats $name-dirty.fits
  sed -n 's/.*"maximum": \([0-9.e+-]*\).*/\1/p' "$(stdout_file)" >$name.txt
done
awk -v before="$(cat cables.txt)" -v after="$(cat calibrated.txt)" 'BEGIN { exit !(after > 2700 && after < 3500 && before < after / 5) }' ||
  fail "the brightest source of 3000 Jy has $(cat calibrated.txt) Jy, and $(cat cables.txt) before calibration"
