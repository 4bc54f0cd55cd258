# SPDX-License-Identifier: GPL-3.0-or-later
# Killed, interrupted, left alone by a neighbour of the pipe, out of space, fed damaged files: whatever happens, an
# output is complete or absent, and the exit status says which.
source "$APSYN_SOURCE/tests/cli/lib.sh"
RANDOM=20240101 # the same moments and damage each time

cat >sky.txt <<'END'
Format = Name, Type, Ra, Dec, I
one, POINT, 02:28:00, -26.42.00, 2000
two, POINT, 02:10:00, -24.00.00, 1000
END
cat >array.csv <<'END'
# four antennas; site -26.7 116.67 377
name,east_m,north_m,up_m
a,0,0,0
b,120,10,0
c,-30,80,1
d,15,-20,2
END
printf 'antenna,gain_amplitude,phase_rad\na,1,0.1\nb,1.1,0\nc,0.9,-0.2\nd,1,0\n' >gains.csv
printf 'id,ra,dec,antennas\none,02:30:00,-26d42m00s,a;b;c\n' >beams.csv
sim="simulate -q --array array.csv --sky sky.txt --noise 20000Jy"
cor="correlate -q --channels 16 --integration 5ms"
beam="beamform -q --channels 16 --centre zenith"
run $sim --duration 100ms -o in.dada
run $cor in.dada -o in.vis
run idg-grid -q in.vis --size 128 --scale 12amin -o in

# Each job once, undisturbed, in folder whole-JOB: what the others must give.
declare -A job=(
  [simulate]="$sim --duration 200ms -o out.dada"
  [simulate-ms]="$sim --duration 30s --channels 16 -o out.ms"
  [correlate]="$cor ../in.dada -o out.vis"
  [correlate-ms]="$cor ../in.dada -o out.ms"
  [beamform]="$beam ../in.dada -o out.fil"
  [beamform-8]="$beam --product voltage ../in.dada -o out.dada"
  [epic-image]="epic-image -q --channels 4 --size 32 --accumulate 5ms ../in.dada -o out.fits"
  [idg-grid]="idg-grid -q ../in.vis --size 128 --scale 12amin -o out"
  [clean]="clean -q ../in-dirty.fits ../in-psf.fits --niter 5000 -o out"
)
declare -A took_ms
for name in "${!job[@]}"; do
  mkdir "whole-$name" try 2>/dev/null
  ln -sf ../sky.txt ../array.csv "whole-$name/"
  start=$(date +%s%N)
  (cd "whole-$name" && run ${job[$name]})
  took_ms[$name]=$((($(date +%s%N) - start) / 1000000 + 1))
done

# begin: an empty folder "try"; expect_whole_or_absent NAME: no output in it that is not what it should be.
begin() {
  rm -rf try && mkdir try && ln -s ../sky.txt ../array.csv try/
}
expect_whole_or_absent() {
  local path
  for path in try/out*; do
    case "$path" in *.part | 'try/out*') continue ;; esac
    diff -rq --exclude table.lock "$path" "whole-$1/${path#try/}" >&2 || fail "$1 left an incomplete $path"
  done
}
expect_no_part() {
  ! compgen -G 'try/*.part*' >/dev/null || fail "$1 left $(echo try/*.part*)"
}
# stop_at_random SIGNAL NAME: starts the job in "try" and sends the signal somewhere in its course; sets $status.
stop_at_random() {
  local delay_ms=$((RANDOM % took_ms[$2]))
  (cd try && exec env --default-signal=INT ${job[$2]} 2>/dev/null) &
  sleep "$(printf '%d.%03d' $((delay_ms / 1000)) $((delay_ms % 1000)))"
  kill -s "$1" $! 2>/dev/null
  { wait $!; } 2>/dev/null
  status=$?
}
for name in "${!job[@]}"; do
  for _ in 1 2 3; do
    begin
    stop_at_random KILL "$name"
    expect_whole_or_absent "$name"
    # what a killed run left behind is in nobody's way
    (cd try && run ${job[$name]} --overwrite)
    expect_whole_or_absent "$name"
    expect_no_part "$name"
  done
  for _ in 1 2 3; do
    begin
    stop_at_random INT "$name"
    expect_whole_or_absent "$name"
    expect_no_part "$name"
    # before its first line a program is killed by the signal all the same
    case $status in 0 | 130) ;; *) fail "$name: exit status $status when interrupted" ;; esac
  done
done

# No space, here as a limit on the size of files: a failure, never a short output.
for name in "${!job[@]}"; do
  for limit_kib in 1 8 33 60; do
    begin
    (cd try && expect_exit "0|1" bash -c "ulimit -f $limit_kib; exec ${job[$name]}")
    expect_whole_or_absent "$name"
    expect_no_part "$name"
    if [ $limit_kib = 1 ]; then expect_no_file try/out*; fi
  done
done

# What no tool may replace, whatever it is told.
mkdir -p precious/work && mkfifo pipe
expect_exit 2 $sim --duration 1ms --overwrite -o precious
expect_exit 2 $cor in.dada --overwrite -o pipe
if [ ! -d precious/work ] || [ ! -p pipe ]; then fail "something precious was replaced"; fi

# A reader that leaves stops the writer at once.
for command in "$sim --duration 600s -o -" "correlate -q whole-simulate/out.dada --channels 16 --integration 1ms -o -"; do
  for n_bytes in 1 5000; do
    TIME_LIMIT=5 expect_exit 141 bash -c "set -o pipefail; $command | head -c $n_bytes >/dev/null"
  done
done

# A writer that is killed is a failure of the reader.
for delay in 0 0.1 0.2; do
  begin
  expect_exit "1|3" bash -c "{ timeout -s KILL 0.$((RANDOM % 3 + 1)) $sim --duration 600s -o -; } 2>/dev/null |
    $cor -o try/out.ms"
  expect_no_file try/out.ms
done
begin
whole=$(stat -c %s in.vis)
expect_exit 3 bash -c "head -c $((whole - 1)) in.vis | idg-grid -q - --size 128 --scale 12amin -o try/out"
expect_no_file try/out-dirty.fits try/out-psf.fits

# Writes of any size through a pipe.
chopped() {
  local bytes
  for bytes in 1 4095 17 2048 333; do dd bs="$bytes" count=9 status=none; done
  dd bs=3001 status=none
}
run bash -c "$cor - -o straight.vis < in.dada"
run bash -c "$(declare -f chopped); chopped < in.dada | $cor - -o chopped.vis"
expect_same straight.vis chopped.vis
run bash -c "idg-grid -q - --size 128 --scale 12amin -o straight < in.vis"
run bash -c "$(declare -f chopped); chopped < in.vis | idg-grid -q - --size 128 --scale 12amin -o chopped"
for part in dirty psf; do expect_same straight-$part.fits chopped-$part.fits; done

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
