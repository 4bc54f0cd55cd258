# SPDX-License-Identifier: GPL-3.0-or-later
# simulate as a user runs it: errors and exit statuses, files and pipes, reproducibility.
source "$APSYN_SOURCE/tests/cli/lib.sh"

cat >array.csv <<'END'
# three antennas; site -26.7 116.67 377
name,east_m,north_m,up_m
a,0,0,0
b,120,10,0
c,-30,80,1
END
grep -v '^#' array.csv >homeless.csv
cat >sky.txt <<'END'
Format = Name, Type, Ra, Dec, I, Q, U, V
one, POINT, 02:30:00, -26.42.00, 100, 0, 0, 0
two, POINT, 02:10:00, -24.00.00, 60, 10, 0, -5
END
noisy="--array array.csv --sky sky.txt --noise 1000Jy"
common="$noisy --duration 50ms"
header_bytes() { head -c 4096 "$1" | grep -a '^HDR_SIZE' | awk '{ print $2 }'; }
payload() { tail -c +$(($(header_bytes "$1") + 1)) "$1"; }

# Wrong usage says so and leaves nothing.
expect_exit 2 simulate -o x.dada
expect_stderr "simulate: error:" "--array"
expect_exit 2 simulate --array nowhere --noise 1Jy -o x.dada
expect_stderr "nowhere" "mwa-32t"
expect_exit 2 simulate --array array.csv -o x.dada
expect_stderr "neither sky nor receiver noise"
expect_exit 2 simulate --array homeless.csv --noise 1Jy -o x.dada
expect_stderr "--site"
expect_exit 2 simulate --array array.csv --noise 1000 -o x.dada
expect_stderr "--noise" "1000"
expect_exit 2 simulate --array array.csv --noise=-1Jy -o x.dada
expect_exit 2 simulate $common --bits 5 -o x.dada
expect_exit 2 simulate $common --drop 1.5 -o x.dada
expect_exit 2 simulate $common --bandwidth 400MHz -o x.dada
expect_stderr "below 0 Hz"
expect_exit 2 simulate $noisy --duration 1ns -o x.dada
for output in x.dada x.ms; do
  expect_exit 2 simulate $noisy --duration 1e30s -o $output
  expect_stderr "more than a century"
done
expect_exit 2 simulate $common --start tomorrow -o x.dada
expect_stderr "--start"
expect_exit 2 simulate $common --pol XX -o x.dada
expect_stderr "--pol"
expect_exit 2 simulate $common --bits 4 -o x.ms
expect_stderr "--bits"
expect_exit 2 simulate $common --pol XX,RR -o x.ms
expect_exit 2 simulate $common --pol XX,ZZ -o x.ms
expect_exit 2 simulate $common --integration 2s -o x.ms
expect_exit 2 simulate $common --phase-centre here -o x.ms
expect_exit 2 simulate $common --max-memory 1MB -o x.dada
expect_stderr "--max-memory"
expect_exit 4 simulate $common --device cuda -o x.dada
expect_exit 4 simulate $noisy --duration 1s --device cuda:99 -o x.ms
expect_stderr "cuda:99"
expect_exit 1 simulate $common -o missing/x.dada
expect_exit 1 simulate --array array.csv --sky missing.txt -o x.dada
expect_stderr "missing.txt"
expect_no_file x.dada x.ms

# A sky that cannot be.
sed 's/60, 10, 0, -5/60, 59, 0, -50/' sky.txt >polarised.txt
expect_exit 3 simulate --array array.csv --sky polarised.txt -o x.dada
expect_stderr "two" "exceeds I"
sed 's/100, 0, 0, 0/-1, 0, 0, 0/' sky.txt >negative.txt
expect_exit 3 simulate --array array.csv --sky negative.txt -o x.dada
sed 's/02:30:00/banana/' sky.txt >banana.txt
expect_exit 3 simulate --array array.csv --sky banana.txt -o x.dada
expect_stderr "banana.txt"
cat >wide.txt <<'END'
Format = Name, Type, Ra, Dec, I, MajorAxis, MinorAxis, Orientation
wide, GAUSSIAN, 02:30:00, -26.42.00, 100, 7200, 3600, 30
END
expect_exit 3 simulate --array array.csv --sky wide.txt -o x.dada
expect_stderr "wide" "split it"
expect_no_file x.dada

# A source that has set is reported; with nothing else there is nothing to do.
sed 's/02:30:00/14:30:00/' sky.txt >set.txt
run simulate --array array.csv --noise 1000Jy --duration 50ms --sky set.txt -o set.dada
expect_stderr "1 of 2 components are below the horizon"
expect_exit 2 simulate --array array.csv --sky sky.txt --start 2024-01-01T00:00:00 -o x.dada
expect_stderr "nothing to simulate"

# Files: complete, with their header, never overwritten unasked.
run simulate $common -o obs.dada
expect_file obs.dada
[ "$(stat -c %s obs.dada)" -eq $(($(header_bytes obs.dada) + 64000 * 3 * 2 * 2)) ] || fail "obs.dada has another size"
for key in "NANT 3" "NPOL 2" "NCHAN 1" "NBIT 8" "NDIM 2" "FREQ 150" "BW 1.28" "TSAMP 0.78125" "FILE_SIZE 768000" \
  "UTC_START 2024-01-01-12:00:00" "SOURCE sky"; do
  head -c 4096 obs.dada | grep -a . | awk '{ print $1, $2 }' | grep -qx "$key" || fail "no '$key' in the header"
done
expect_exit 2 simulate $common -o obs.dada
expect_stderr "obs.dada"
run simulate $common -o obs.dada --overwrite
# A file that an option names is an input, too.
cp sky.txt sky-kept.txt
expect_exit 2 simulate $common -o sky.txt --overwrite
expect_stderr "sky.txt"
expect_same sky.txt sky-kept.txt "the sky model has changed"

# The same bytes whatever the threads; other seeds, other bytes; longer recordings begin with the shorter ones.
for threads in 1 2 4 7; do
  run simulate $common --bits 4 --channels 2 --threads $threads -o threads.dada --overwrite
  [ $threads -gt 1 ] || cp threads.dada threads1.dada
  expect_same threads1.dada threads.dada
done
run simulate $common --bits 4 --channels 2 --seed 2 -o seed.dada
expect_different <(payload seed.dada) <(payload threads1.dada) "another seed gives the same voltages"
run simulate $noisy --bits 4 --channels 2 --duration 20ms -o short.dada
payload short.dada >short.raw
expect_same short.raw <(payload threads1.dada | head -c "$(stat -c %s short.raw)")

# Pipes: the same samples, then a trailer; a reader that leaves ends it as SIGPIPE does.
run simulate $common -o -
cp "$(stdout_file)" piped.dada
payload piped.dada | head -c 768000 >piped.raw
expect_same piped.raw <(payload obs.dada)
[ "$(payload piped.dada | wc -c)" -gt 768000 ] || fail "no trailer after the samples"
run simulate $common
expect_same <(payload "$(stdout_file)") <(payload piped.dada)
set +o pipefail
timeout 60 simulate $noisy --duration 100s | head -c 100000 >head.dada
[ "${PIPESTATUS[0]}" -eq 141 ] || fail "exit status ${PIPESTATUS[0]} instead of 141 when the reader leaves"
set -o pipefail

# Interrupted: nothing is left.
timeout --preserve-status -s INT 1 simulate $noisy --duration 1000s -q -o interrupted.dada 2>/dev/null
status=$?
[ $status -eq 130 ] || fail "exit status $status instead of 130 when interrupted"
expect_no_file interrupted.dada

# Dry runs tell and write nothing.
run simulate $common --dry-run -o x.dada
expect_stdout "one: 100 Jy" "elevation" "64000 samples" "memory: "
run simulate $noisy --duration 2s --dry-run -o x.ms
expect_stdout "3 baselines" "2 integrations"
expect_no_file x.dada x.ms

# Visibilities.
run simulate $noisy --duration 3s --integration 1s --channels 4 --phase-centre '02h28m00s -26d42m00s' -o obs.ms
expect_file obs.ms/table.dat obs.ms/SPECTRAL_WINDOW/table.dat obs.ms/FEED/table.dat
expect_exit 2 simulate $noisy --duration 3s -o obs.ms
run simulate $noisy --duration 1s --pol RR,LL -o circular.ms --site=-30,20,1000 --start 2024-01-01T20:00:00
expect_file circular.ms/table.dat

# Each integration is of its own time: the second hour is what a run that begins with it makes.
hours="--array array.csv --sky sky.txt --channels 2 --integration 1h --phase-centre '02h28m00s -26d42m00s'"
eval run simulate "$hours" --start 2024-01-01T12:00:00 --duration 2h -o both.ms
eval run simulate "$hours" --start 2024-01-01T13:00:00 --duration 1h -o second.ms
run transform -q both.ms --interval 1 2 -o cut.ms
products_of() { quicklook "$1" --stats | grep '"product":'; }
expect_same <(products_of cut.ms) <(products_of second.ms) "the second integration is not that of its time"

# Missing Earth-orientation tables are a warning where they move the sky by much of a fringe, and only there.
run simulate --array mwa-32t --noise 1Jy --duration 1ms -o compact.dada
grep -q Earth-orientation "$(stderr_file)" && fail "a warning of 13 arcsec where fringes are 20 arcmin"
run simulate --array mwa-32t --noise 1Jy --duration 1ms -v -o verbose.dada
if grep -q Earth-orientation "$(stderr_file)"; then
  run simulate --array vla-a --noise 1Jy --duration 1ms -o wide.dada
  expect_stderr "simulate: warning: no Earth-orientation table"
  run correlate wide.dada --integration 1ms -o wide.vis
  expect_stderr "correlate: warning: no Earth-orientation table"
  run idg-grid wide.vis --size 32 --scale 1asec -o wide
  expect_stderr "idg-grid: warning: no Earth-orientation table"
  run correlate compact.dada --integration 1ms -o compact.vis
  run idg-grid compact.vis --size 32 --scale 10amin -o compact
  ! grep -q Earth-orientation "$(stderr_file)" || fail "idg-grid warns of 13 arcsec where fringes are 20 arcmin"
fi

# Gains: an antenna of amplitude 0 delivers the noise alone, as it would under a sky without sources; others are not touched.
printf 'antenna,gain_amplitude,phase_rad\nb,0,0\n' >dead.csv
run simulate $noisy --bits 32 --duration 20ms --gains dead.csv -o dead.dada
run simulate $noisy --bits 32 --duration 20ms -o alive.dada
floats() { payload "$1" | od -An -v -t f4 -w48 | awk -v from=$((1 + 4 * $2)) '{ print $from, $(from + 1), $(from + 2), $(from + 3) }'; }
for ant in 0 2; do expect_same <(floats dead.dada $ant) <(floats alive.dada $ant) "antenna $ant has no gain of its own"; done
expect_different <(floats dead.dada 1) <(floats alive.dada 1) "a dead antenna still sees the sky"
floats dead.dada 1 | awk '{ for (i = 1; i <= 4; ++i) sum += $i * $i } END { print sum / NR / 2 }' >power.txt
expect_near "$(cat power.txt)" 1000 40 "the power of a dead antenna, whose noise is 1000 Jy" # 25600 samples scatter by 6 Jy
expect_bad_gains() {
  printf '%b' "$1" >bad.csv
  expect_exit 3 simulate $common --gains bad.csv -o x.dada
  expect_stderr "bad.csv" "$2"
}
expect_bad_gains 'antenna,time_s,gain_amplitude,phase_rad\na,1,1,0\na,1,1,0\n' "times of an input must rise"
expect_bad_gains 'antenna,gain_amplitude,phase_rad\nd,1,0\n' "antenna 'd'"
expect_bad_gains 'antenna,gain_amplitude,phase_rad\na,-1,0\n' "must not be negative"
expect_bad_gains 'antenna,pol,gain_amplitude,phase_rad\na,Z,1,0\n' "pol 'Z'"
expect_bad_gains 'antenna,gain,phase_rad\na,1,0\n' "unknown column 'gain'"
expect_exit 2 simulate $common --gains dead.csv -o x.ms
expect_no_file x.dada x.ms

# At a recorder's pace, with the same bytes.
before=$(date +%s%N)
run simulate $noisy --duration 500ms --live -o live.dada
[ $(($(date +%s%N) - before)) -ge 490000000 ] || fail "500 ms of a live stream in less"
run simulate $noisy --duration 500ms -o at-once.dada
expect_same <(payload live.dada) <(payload at-once.dada) "--live changes samples"
