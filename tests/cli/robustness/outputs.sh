# SPDX-License-Identifier: GPL-3.0-or-later
# Left alone by a neighbour of the pipe, told to replace what is precious, fed damaged files: whatever happens, an output
# is complete or absent, and the exit status says which.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/robustness/jobs.sh" || exit 1
RANDOM=20240101 # the same moments and damage each time

make_inputs
sim="simulate -q --array array.csv --sky sky.txt --noise 20000Jy"
cor="correlate -q --channels 16 --integration 5ms"
run_whole simulate-ms clean

# What no tool may replace, whatever it is told.
mkdir -p precious/work && mkfifo pipe
expect_exit 2 $sim --duration 1ms --overwrite -o precious
expect_exit 2 $cor in.dada --overwrite -o pipe
if [ ! -d precious/work ] || [ ! -p pipe ]; then fail "something precious was replaced"; fi

# A reader that leaves stops the writer at once.
run $sim --duration 200ms -o long.dada
for command in "$sim --duration 600s -o -" "correlate -q long.dada --channels 16 --integration 1ms -o -"; do
  for n_bytes in 1 5000; do
    TIME_LIMIT=5 expect_exit 141 bash -c "set -o pipefail; $command | head -c $n_bytes >/dev/null"
  done
done

# A writer that is killed is a failure of the reader.
for delay in 0 0.1 0.2; do
  begin try none
  expect_exit "1|3" bash -c "{ timeout -s KILL 0.$((RANDOM % 3 + 1)) $sim --duration 600s -o -; } 2>/dev/null |
    $cor -o try/out.ms"
  expect_no_file try/out.ms
done
begin try none
whole=$(stat -c %s in.vis)
expect_exit 3 bash -c "head -c $((whole - 1)) in.vis | idg-grid -q - --size 128 --scale 12amin -o try/out"
expect_no_file try/out-dirty.fits try/out-psf.fits

# Writes of any size through a pipe.
chopped() {
  local bytes
  for bytes in 1 4095 17 2048 333; do dd bs="$bytes" count=9 status=none; done
  dd bs=3001 status=none
}
mkdir straight
run bash -c "$cor - -o piped.vis < in.dada" && mv piped.vis straight
run bash -c "$(declare -f chopped); chopped < in.dada | $cor - -o piped.vis"
expect_same straight/piped.vis piped.vis
run bash -c "idg-grid -q - --size 128 --scale 12amin -o piped < in.vis" && mv piped-*.fits straight
run bash -c "$(declare -f chopped); chopped < in.vis | idg-grid -q - --size 128 --scale 12amin -o piped"
for part in dirty psf; do expect_same straight/piped-$part.fits piped-$part.fits; done

# Damaged inputs: a message and an exit status, never a signal or a wait without end. Text files lose, repeat and change
# characters; binary ones get one odd value in their header or end early.
damage() {
  local size at
  size=$(stat -c %s "$1")
  at=$((RANDOM % (size < 4096 ? size : 4096)))
  case $((RANDOM % 4)) in
    0) head -c $((RANDOM * RANDOM % size)) "$1" ;;
    1) head -c $at "$1"; printf '%b' "\\x$(printf %02x $((RANDOM % 256)))"; tail -c +$((at + 2)) "$1" ;;
    2) head -c $at "$1"; printf -- '-99999999999'; tail -c +$((at + 13)) "$1" ;;
    3) head -c $at "$1"; tail -c +$((at + 6)) "$1" ;;
  esac >"$2"
}
# hurt FILE COMMAND...: the command on damaged copies, which it finds as "bad".
hurt() {
  local file=$1 i
  shift
  for i in 1 2 3 4 5 6 7 8; do
    damage "$file" bad
    rm -rf out out-* && TIME_LIMIT=10 expect_exit "0|1|2|3" "$@"
    [ ! -e out.part ] || fail "out.part was left behind: $*"
  done
}
hurt in.dada correlate -q bad --channels 16 --integration 5ms -o out
hurt in.dada beamform -q bad --channels 16 --centre zenith -o out
hurt beams.csv beamform -q in.dada --beams bad -o out
hurt in.vis idg-grid -q bad --size 32 --scale 1deg -o out
hurt in-dirty.fits clean -q bad in-psf.fits --niter 50 -o out
hurt in-psf.fits clean -q in-dirty.fits bad --niter 50 -o out
hurt whole-clean/out-model.fits idg-degrid -q --model bad whole-simulate-ms/out.ms
hurt sky.txt idg-degrid -q --sky bad whole-simulate-ms/out.ms
hurt array.csv correlate -q in.dada --antennas bad --channels 16 --integration 5ms -o out
hurt gains.csv correlate -q in.dada --gains bad --channels 16 --integration 5ms -o out
hurt sky.txt simulate -q --array array.csv --sky bad --noise 1Jy --duration 1ms -o out
