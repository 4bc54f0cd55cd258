# SPDX-License-Identifier: GPL-3.0-or-later
# --gains-follow: gains that are replaced while voltages go through are those of what comes after, byte for byte as in a run that
# has had them from the beginning; antennas that lose their gain are left out, and files that cannot be used are not taken.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

two_sources 3000 1000 >sky.txt
awk 'BEGIN {
  print "# site -26.7 116.67 377"
  print "name,east_m,north_m,up_m"
  for (i = 0; i < 16; ++i) printf "T%d,%.1f,%.1f,0\n", i, 30 * sin(i * i), 30 * cos(2.1 * i * i) }' </dev/null >array.csv
run simulate -q --array array.csv --sky sky.txt --noise 2000Jy --bits 8 --bandwidth 128kHz --channels 2 --duration 64ms -o sky.dada
header=$(sed -n 's/^HDR_SIZE *//p' sky.dada | head -1)
half=$((header + 2048 * 2 * 16 * 2 * 2)) # of 4096 samples

# table SLOPE [ANTENNA]: phases of antennas, and one that has no gain.
table() {
  awk -v slope="$1" -v dead="${2:--1}" 'BEGIN {
    print "antenna,pol,gain_amplitude,phase_rad"
    for (ant = 0; ant < 16; ++ant)
      for (pol = 0; pol < 2; ++pol)
        if (ant == dead) printf "%d,%d,nan,nan\n", ant, pol
        else printf "%d,%d,%.3f,%.6f\n", ant, pol, 1 + ant / 100, slope * ant + pol }' </dev/null
}
table 0.1 >before.csv
table 0.3 7 >after.csv

# payload FILE: what follows the header of a stream, or of a filterbank.
payload() {
  local skip
  skip=$(sed -n 's/^HDR_SIZE *//p' "$1" | head -1)
  [ -n "$skip" ] || skip=$(($(grep -abo HEADER_END "$1" | head -1 | cut -d: -f1) + 10))
  tail -c +$((skip + 1)) "$1"
}
# wait_for BYTES FILE: until the file's payload has so many.
wait_for() {
  local i
  for i in $(seq 600); do
    [ -s "$2" ] && [ "$(payload "$2" 2>/dev/null | wc -c)" -ge "$1" ] && return
    sleep 0.05
  done
  fail "no $1 bytes of $2 after 30 s: $(cat live.txt)"
}

# follows BYTES TOOL...: BYTES of its output are of the first half.
follows() {
  local bytes=$1 tool
  shift
  echo "-- $*" >&2
  run "$@" sky.dada --gains before.csv -o -
  cp "$(stdout_file)" before.out
  run "$@" sky.dada --gains after.csv -o -
  cp "$(stdout_file)" after.out
  payload before.out >before.raw && payload after.out >after.raw
  [ "$(wc -c <before.raw)" -ge $((2 * bytes)) ] || fail "$1: $(wc -c <before.raw) bytes where $((2 * bytes)) were planned"
  { head -c "$bytes" before.raw; tail -c +$((bytes + 1)) after.raw | head -c "$bytes"; } >expected.raw
  expect_different expected.raw <(head -c $((2 * bytes)) before.raw) "$1: the gains change nothing"
  rm -f pipe live.out
  mkfifo pipe
  cp before.csv gains.csv
  "$@" - --gains gains.csv --gains-follow -o - <pipe >live.out 2>live.txt &
  tool=$!
  exec 7>pipe
  head -c "$half" sky.dada >&7
  wait_for "$bytes" live.out
  cp after.csv new.csv && mv new.csv gains.csv
  tail -c +$((half + 1)) sky.dada >&7
  exec 7>&-
  wait $tool || fail "$1 ended with $?: $(cat live.txt)"
  expect_same expected.raw <(payload live.out | head -c $((2 * bytes))) "$*: the halves are not those of their gains"
  grep -q 'new gains from 0.032 s' live.txt || fail "$1: no word of the new gains: $(cat live.txt)"
  grep -q 'left out: T7' live.txt || fail "$1: no word of the antenna that has none: $(cat live.txt)"
}
image=$((4 * 64 * 64 * 2))
for method in fft dft corr; do
  follows $((4 * image)) epic-image --size 64 --scale 2deg --accumulate 8ms --method $method
done
baselines=$((16 * 17 / 2))
follows $((4 * baselines * 2 * 4 * 12)) correlate --integration 8ms --phase-centre none
follows $((4 * baselines * 8 * 4 * 12)) correlate --channels 4 --integration 8ms --phase-centre none
printf 'id,az,el\na,0deg,80deg\n' >beam.csv
follows $((4 * 2 * 2048 / 64)) beamform --beams beam.csv --integrate 64
follows $((4 * 2 * 2048 / 64)) beamform --beams beam.csv --integrate 64 --incoherent
