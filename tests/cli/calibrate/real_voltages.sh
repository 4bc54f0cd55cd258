# SPDX-License-Identifier: GPL-3.0-or-later
# A real recording of navigation satellites by the 24 antennas of TART, and the phases that its makers measured: against the
# satellites in the image that these phases give, calibrate finds them again in the uncalibrated voltages.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
need zstd
data=$APSYN_SOURCE/tests/data

run zstd -q -d "$data/TART-mgtana-16ms.dada.zst" -o tart.dada
correlate="correlate -q tart.dada --antennas $data/TART-mgtana-antennas.csv --channels 64 --integration 16ms --phase-centre zenith"
run $correlate -o raw.ms
run $correlate --gains "$data/TART-mgtana-gains.csv" -o measured.ms
# GPS fills the central MHz.
run idg-grid -q measured.ms --size 256 --psf-size 512 --scale 0.45deg --weight natural --channel-range 24 40 -o sky
run clean -q sky-dirty.fits sky-psf.fits --auto-threshold 3 -o sky
run calibrate raw.ms --channel-range 24 40 --model sky-model.fits --solve phase:channels=all --reference-antenna 0 --min-snr 1 -o tart.h5 --export tart.csv
expect_stderr "phase: 24 solutions, chi^2"
join -t, <(grep '^[0-9]' "$data/TART-mgtana-gains.csv" | sort -t, -k1,1) \
  <(sed -n 's/^ant0*\([0-9]\)/\1/p' tart.csv | sort -t, -k1,1) |
  awk -F, '
    { d[NR] = $3 - $NF; c += cos(d[NR]); s += sin(d[NR]) }
    END {
      mean = atan2(s, c) # of the reference antenna
      for (i in d) { e = d[i] - mean; e = atan2(sin(e), cos(e)); sum += e * e }
      printf "%d phases, %.3f rad RMS from those measured", NR, sqrt(sum / NR)
      exit !(NR == 24 && sqrt(sum / NR) < 0.3)
    }' >phases.txt || fail "$(cat phases.txt)"
cat phases.txt # measured 0.19
