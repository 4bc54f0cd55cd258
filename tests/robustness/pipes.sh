# SPDX-License-Identifier: GPL-3.0-or-later
# Streams through readers of all kinds: sourced after lib.sh, or run as tests/robustness/run.sh pipes.sh [ROUNDS [SEED]].
# What arrives is what a file gets, byte by byte, whoever copies, splits, delays or leaves it.

make_streams() {
  cat >array.csv <<'END'
# four antennas; site -26.7 116.67 377
name,east_m,north_m,up_m
a,0,0,0
b,120,10,0
c,-30,80,1
d,15,-20,2
END
  stream=(
    [0]="simulate -q --array array.csv --noise 20000Jy --duration 300ms -o -"
    [1]="correlate -q --channels 256 --integration 400us in.dada -o -"
    [2]="epic-image -q --channels 8 --size 64 --field 20deg --accumulate 1ms in.dada -o -"
    [3]="beamform -q --channels 64 --centre zenith --product voltage in.dada -o -"
    [4]="beamform -q --channels 64 --centre zenith in.dada -o -"
  )
  run simulate -q --array array.csv --noise 20000Jy --duration 300ms -o in.dada
  local i
  for i in "${!stream[@]}"; do run ${stream[$i]} && cp "$(stdout_file)" "whole-$i"; done
}

# unblocked FD COMMAND...: runs it with a pipe that never lets it wait.
unblocked() { perl -MFcntl -e 'open(my $f, "+<&=", shift) or die; fcntl($f, F_SETFL, O_NONBLOCK | fcntl($f, F_GETFL, 0)) or die; exec @ARGV' "$@"; }

# one_stream NUMBER: one run for each kind of reader.
one_stream() {
  local command=${stream[$1]} whole=whole-$1 n status
  local delay=0.$((RANDOM % 3)) block=$((RANDOM % 100000 + 1))
  n=$((RANDOM * 32768 % $(stat -c %s "$whole") + 1))
  $command | cat >got
  expect_same got "$whole" "$command | cat"
  $command | tee copy | cat >got
  expect_same got "$whole" "$command | tee"
  expect_same copy "$whole" "the copy of tee"
  $command | { sleep "$delay" && cat; } >got
  expect_same got "$whole" "a late reader of $command"
  $command | tee >({ sleep "$delay" && cat; } >copy; touch ready) | dd bs=$block iflag=fullblock status=none >got
  until [ -e ready ]; do sleep 0.01; done
  rm ready
  expect_same got "$whole" "$command | dd bs=$block"
  expect_same copy "$whole" "a late copy of $command"
  if command -v pv >/dev/null; then
    $command | pv -q | cat >got
    expect_same got "$whole" "$command | pv"
  fi
  unblocked 1 $command | { sleep "$delay" && cat; } >got
  expect_same got "$whole" "$command into a pipe that does not let it wait"
  # As much as the reader wants, and no more.
  $command | head -c $n >got
  status=${PIPESTATUS[0]}
  case $status in 0 | 141) ;; *) fail "exit status $status of $command when its reader left after $n bytes" ;; esac
  cmp -n $n got "$whole" >&2 || fail "$command | head -c $n"
}

# What reads streams takes them from any writer.
one_reader() {
  local cor="correlate -q --channels 64 --integration 5ms"
  local sim=${stream[0]} block=$((RANDOM % 100000 + 1))
  [ -e whole-reader ] || { $cor - -o got.vis <whole-0 && mv got.vis whole-reader; }
  $sim | $cor - -o got.vis
  expect_same got.vis whole-reader "a pipe between two tools"
  rm got.vis
  dd bs=$block status=none <whole-0 | unblocked 0 $cor - -o got.vis
  expect_same got.vis whole-reader "a pipe that does not let its reader wait, in pieces of $block"
  rm got.vis
  # Cut anywhere, it is an error and no output.
  local n=$((RANDOM * 32768 % $(stat -c %s whole-0)))
  expect_exit 3 bash -c "head -c $n whole-0 | $cor - -o got.vis"
  expect_no_file got.vis
}

# through_pipes ROUNDS
through_pipes() {
  local round i
  for ((round = 0; round < $1; ++round)); do
    for i in "${!stream[@]}"; do one_stream "$i"; done
    one_reader
  done
  echo "$1 rounds through pipes"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
  rounds=${1:-100}
  RANDOM=${2:-1}
  make_streams
  through_pipes "$rounds"
fi
