# SPDX-License-Identifier: GPL-3.0-or-later
# calibrate on Measurement Sets as a user would: plans, reports, refusals, and sets that stay whole.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

two_sources 100 50 >sky.txt
run simulate -q --array mwa-32t --sky sky.txt --channels 4 --duration 8s --integration 2s --noise 1000Jy --phase-centre '02h28m00s -26d42m00s' -o obs.ms
awk 'BEGIN { print "antenna,pol,gain_amplitude,phase_rad"; for (n = 0; n < 64; ++n) printf "%d,%d,%.3f,%.3f\n", n / 2, n % 2, 1 + n / 100, sin(n) }' </dev/null >true.csv
run calibrate -q obs.ms --apply true.csv --corrupt --output-column RAW

# Solved and corrected, the data are as noisy as before, and the model's.
# The set may follow a term, which takes one word.
run calibrate --column RAW --sky sky.txt -o cal.h5 --report report.json --solve gain:channels=all obs.ms
expect_stderr "gain: 64 solutions"
expect_file cal.h5 report.json
grep -q '"term": "gain"' report.json || fail "the report does not name its term"
if command -v jq >/dev/null; then
  run jq -e '.terms[0].solutions | length == 64 and all(.snr > 3)' report.json
  run jq -e '.chi2_after < .chi2_before and .samples > 1000' report.json
fi
run calibrate -q obs.ms --column RAW --apply cal.h5
run idg-degrid -q --sky sky.txt --subtract --input-column CORRECTED_DATA --output-column REST obs.ms
run quicklook -q --stats --column REST obs.ms
grep '"product": "XX"' "$(stdout_file)" | sed 's/.*"mean_amplitude": \([0-9.e+-]*\).*/\1/' >after.txt
run idg-degrid -q --sky sky.txt --subtract --input-column DATA --output-column REST obs.ms
run quicklook -q --stats --column REST obs.ms
grep '"product": "XX"' "$(stdout_file)" | sed 's/.*"mean_amplitude": \([0-9.e+-]*\).*/\1/' >before.txt
awk -v after="$(cat after.txt)" -v before="$(cat before.txt)" 'BEGIN { exit !(before > 0 && after < 1.05 * before) }' ||
  fail "after calibration $(cat after.txt) Jy are left, before the distortion $(cat before.txt)"

# A chain, a model from a column, and the same in one run.
run idg-degrid -q --sky sky.txt obs.ms
run calibrate -q obs.ms --column RAW --solve bandpass --solve phase:interval=4s -o chain.h5
run calibrate -q obs.ms --column RAW --model-column MODEL_DATA --solve gain:channels=all -o column.h5 --export column.csv
run calibrate -q cal.h5 --export cal.csv
paste -d, <(grep '^Tile' cal.csv) <(grep '^Tile' column.csv) | awk -F, '{ d = $3 - $7; e = $4 - $8; if (d * d > 1e-8 || e * e > 1e-8) exit 1; ++n } END { exit n != 64 }' ||
  fail "a model from a column gives other gains than the same sky"

# Interference: one row in a hundred is a thousand times too strong.
run calibrate -q obs.ms --column RAW --sky sky.txt --solve gain:channels=all --robust -o robust.h5
run calibrate -q --robust=4 obs.ms --column RAW --sky sky.txt --solve gain:channels=all -o robust4.h5

# With less memory the data are read more often, which changes nothing of note.
run simulate -q --array mwa-128t --sky sky.txt --channels 4 --duration 16s --noise 1000Jy --phase-centre '02h28m00s -26d42m00s' -o large.ms
chain="large.ms --sky sky.txt --solve bandpass --solve phase:interval=1s"
# A program with CUDA takes 9 MB more by itself.
less=80 little=66
[[ $(calibrate --version) == *'architectures: none'* ]] || less=89 little=75
run calibrate -v $chain -o much.h5 --export much.bin
expect_stderr "the data are read once"
run calibrate -v $chain -o less.h5 --export less.bin --max-memory ${less}MB
expect_stderr "the data are read 2 times"
expect_peak $less
run calibrate -v $chain -o little.h5 --export little.bin --max-memory ${little}MB
stderr_matches 'the data are read ([3-9]|1[0-9]) times'
expect_peak $little
numbers() { tail -c +49 "$1" | od -An -v -t f8 -w8; }
expect_near_numbers <(numbers much.bin) <(numbers less.bin) 1e-6 "what less memory gives"
expect_near_numbers <(numbers much.bin) <(numbers little.bin) 1e-6 "what little memory gives"

# Intervals are solved while the rows of others are read, predicted and added, whose sums wait where memory ends: the same bits
# from any number of threads.
for threads in 1 2 5; do
  for memory in 1GB 80MB; do
    run calibrate -v large.ms --sky sky.txt --solve gain:interval=2s --threads "$threads" --max-memory "$memory" --overwrite \
      -o beside.h5 --export beside.bin
    expect_stderr "8 intervals" "the data are read once" "beside each other"
    [ "$threads" != 1 ] || [ "$memory" != 1GB ] || cp beside.bin alone.bin
    cmp alone.bin beside.bin || fail "$threads threads in $memory give other gains than one"
  done
  expect_peak 80
done

# Plans change nothing.
before=$(find obs.ms -type f -newer little.h5 | wc -l)
run calibrate obs.ms --sky sky.txt -o dry.h5 --dry-run
expect_stdout "gain: 1 interval" "memory: "
expect_no_file dry.h5
run calibrate obs.ms --apply cal.h5 --output-column DRY --dry-run
expect_stdout "column DRY is to be added" "memory: "
[ "$(find obs.ms -type f -newer little.h5 | wc -l)" = "$before" ] || fail "--dry-run changes the set"

# Refusals, before anything is written.
expect_exit 2 calibrate obs.ms --sky sky.txt
expect_stderr "the solutions go nowhere"
expect_exit 2 calibrate obs.ms --sky sky.txt -o cal.h5
expect_stderr "cal.h5" --overwrite
expect_exit 2 calibrate obs.ms --sky sky.txt -o cal.txt
expect_stderr "cal.txt"
expect_no_file cal.txt
expect_exit 2 calibrate obs.ms --sky sky.txt --model-column MODEL_DATA -o x.h5
expect_stderr "give one of them"
expect_exit 2 calibrate obs.ms --solve nonsense --sky sky.txt -o x.h5
expect_stderr "nonsense" "scalar-phase"
expect_exit 2 calibrate obs.ms --solve gain:interval=ten --sky sky.txt -o x.h5
expect_stderr "gain:interval" "ten"
expect_exit 2 calibrate obs.ms --solve gain:speed=3 --sky sky.txt -o x.h5
expect_stderr "no key 'speed'"
expect_exit 2 calibrate obs.ms --solve delay:channels=2 --sky sky.txt -o x.h5
expect_exit 2 calibrate obs.ms --reference-antenna nobody --sky sky.txt -o x.h5
expect_stderr "--reference-antenna nobody"
expect_exit 2 calibrate obs.ms --apply cal.h5 --output-column DATA
expect_stderr "--output-column DATA"
# A column that cannot be written shows before anything is solved.
expect_exit 2 calibrate obs.ms --sky sky.txt --solve gain:channels=all --output-column FLAG -o early.h5
expect_stderr "FLAG"
! grep -q " solutions" "$(stderr_file)" || fail "an unfit output column was looked at after solving"
expect_no_file early.h5
expect_exit 2 calibrate obs.ms --apply cal.h5 --solve gain
expect_exit 2 calibrate obs.ms --apply cal.h5 --direction north
expect_stderr "--direction north"
expect_exit 2 calibrate obs.ms --apply cal.h5 --sky sky.txt
expect_stderr "--subtract"
expect_exit 2 calibrate obs.ms --apply cal.h5 --subtract patches
expect_exit 2 calibrate obs.ms --sky sky.txt --directions patches -o x.h5
expect_stderr "--solve gain"
expect_exit 3 calibrate obs.ms --sky sky.txt --directions patches --solve tec -o x.h5
expect_stderr "belongs to no patch"
expect_exit 2 calibrate cal.h5
expect_stderr "--export"
expect_exit 2 calibrate obs.ms --sky sky.txt -o x.h5 --max-memory 1MB
expect_stderr "needs at least"
expect_exit 1 calibrate obs.ms --apply nothing.h5
expect_exit 3 calibrate obs.ms --apply sky.txt
run simulate -q --array mwa-32t --sky sky.txt --channels 2 --pol XX,YY --duration 1s --phase-centre '02h28m00s -26d42m00s' -o two.ms
expect_exit 2 calibrate two.ms --sky sky.txt --solve jones -o x.h5
expect_stderr "needs four products"
expect_exit 2 calibrate two.ms --sky sky.txt --solve delay -o x.h5
expect_stderr "needs 3 channels"
expect_exit 2 calibrate two.ms -o x.h5
expect_stderr "there is no column MODEL_DATA"
expect_no_file x.h5

# A second run that wants the set meanwhile is refused.
exec 9<obs.ms && flock -n 9 || fail "cannot lock the set"
expect_exit 1 calibrate obs.ms --apply cal.h5 --column RAW
expect_stderr "another run is changing it"
exec 9<&-
run calibrate -q obs.ms --apply cal.h5 --column RAW

# Killed at any moment, the set opens, keeps its DATA, and another run completes it.
cp -r obs.ms whole.ms
run quicklook -q --stats whole.ms && cp "$(stdout_file)" whole.json
for ms in 10 30 60 90; do
  rm -rf cut.ms && cp -r whole.ms cut.ms
  calibrate -q cut.ms --apply cal.h5 --output-column NEW &
  pid=$!
  sleep 0.0$ms && kill -KILL $pid 2>/dev/null
  wait $pid 2>/dev/null
  run quicklook -q --stats cut.ms
  cmp -s <(sed 's/cut.ms/whole.ms/' "$(stdout_file)") whole.json || fail "a run that was killed after $ms ms leaves other data"
  run calibrate -q cut.ms --apply cal.h5 --output-column NEW
done
