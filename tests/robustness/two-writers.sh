# SPDX-License-Identifier: GPL-3.0-or-later
# Two runs that want the same output, or change the same set, started together: sourced after lib.sh, or run as
# tests/robustness/run.sh two-writers.sh [STARTS [SEED]] (1000 starts take half an hour). One of them refuses, or both
# end well one after the other; nothing is lost, and what the loser says is true.

make_shared() {
  cat >array.csv <<'END'
# four antennas; site -26.7 116.67 377
name,east_m,north_m,up_m
a,0,0,0
b,120,10,0
c,-30,80,1
d,15,-20,2
END
  printf 'Format = Name, Type, Ra, Dec, I\na, POINT, 02:28:00, -26.42.00, 20\n' >sky.txt
  run simulate -q --array array.csv --noise 100Jy --duration 4s -o in.ms
  run simulate -q --array array.csv --noise 100Jy --duration 20ms -o in.dada
  run correlate -q --channels 8 --integration 5ms in.dada -o in.vis
}

# start_both COMMAND COMMAND: within 5 ms of each other; sets $first and $second to their exit statuses.
start_both() {
  local delay
  delay=$(printf '0.00%d' $((RANDOM % 6)))
  $1 >said-1 2>&1 &
  local one=$!
  (sleep "$delay" && exec $2) >said-2 2>&1 &
  local two=$!
  wait $one
  first=$?
  wait $two
  second=$?
}

# expect_refusal STATUS FILE STATUS...: the loser's status is one of these, and it names the other run.
expect_refusal() {
  local status=$1 said=$2
  shift 2
  [ "$status" = 0 ] && return
  [[ " $* " = *" $status "* ]] || fail "exit status $status: $(cat "$said")"
  grep -qE 'another run|appeared meanwhile|exists: give --overwrite' "$said" || fail "untrue reason: $(cat "$said")"
}

# two_columns: two runs of idg-degrid add a column each.
two_columns() {
  rm -rf set.ms && cp -r in.ms set.ms
  start_both 'idg-degrid -q --sky sky.txt --column ONE_DATA set.ms' 'idg-degrid -q --sky sky.txt --column TWO_DATA set.ms'
  [ $((first * second)) = 0 ] || fail "both failed: $(cat said-1 said-2)"
  expect_refusal $first said-1 1
  expect_refusal $second said-2 1
  run idg-grid -q set.ms --size 64 --scale 10amin --no-psf --overwrite -o seen
  [ $first != 0 ] || run idg-grid -q set.ms --column ONE_DATA --size 64 --scale 10amin --no-psf --overwrite -o seen
  [ $second != 0 ] || run idg-grid -q set.ms --column TWO_DATA --size 64 --scale 10amin --no-psf --overwrite -o seen
}

# one_output NAME COMMAND COMMAND [OPTION]: two runs with one output. Whole ones are in whole-1 and whole-2.
one_output() {
  local name=$1
  rm -rf "$name" "$name.part"
  start_both "$2 ${4:-} -o $name" "$3 ${4:-} -o $name"
  [ $((first * second)) = 0 ] || fail "$name: both failed: $(cat said-1 said-2)"
  expect_refusal $first said-1 1 2
  expect_refusal $second said-2 1 2
  if [ ! -e "$name" ]; then
    fail "$name: is missing: $(cat said-1 said-2)"
  elif ! diff -rq --exclude table.lock "$name" whole-1 >/dev/null && ! diff -rq --exclude table.lock "$name" whole-2 >/dev/null; then
    fail "$name is neither the one's nor the other's"
  fi
  ! compgen -G "$name*.part" >/dev/null || fail "left behind: $(echo "$name"*.part)"
}

# two_writers STARTS
two_writers() {
  local i make="simulate -q --array array.csv --noise 100Jy --duration 2s"
  for ((i = 0; i < $1; ++i)); do two_columns; done
  rm -rf whole-*
  for i in 1 2; do run $make --seed $i -o whole-$i.ms && mv whole-$i.ms whole-$i; done
  for ((i = 0; i < $1; ++i)); do
    one_output out.ms "$make --seed 1" "$make --seed 2"
    one_output out.ms "$make --seed 1" "$make --seed 2" --overwrite
  done
  make="simulate -q --array array.csv --noise 100Jy --duration 10ms"
  rm -rf whole-*
  for i in 1 2; do run $make --seed $i -o whole-$i; done
  for ((i = 0; i < $1; ++i)); do
    one_output out.dada "$make --seed 1" "$make --seed 2"
    one_output out.dada "$make --seed 1" "$make --seed 2" --overwrite
  done
  rm -rf whole-*
  # A set that one run changes is not replaced by another.
  for ((i = 0; i < $1; ++i)); do
    rm -rf set.ms && cp -r in.ms set.ms
    start_both 'idg-degrid -q --sky sky.txt --column ONE_DATA set.ms' \
      'simulate -q --array array.csv --noise 100Jy --duration 4s --overwrite -o set.ms'
    [ $((first * second)) = 0 ] || fail "both failed: $(cat said-1 said-2)"
    expect_refusal $second said-2 2
    run idg-grid -q set.ms --size 64 --scale 10amin --no-psf --overwrite -o seen
    ! compgen -G 'set.ms.*part' >/dev/null || fail "left behind: $(echo set.ms.*part)"
  done
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
  starts=${1:-1000}
  RANDOM=${2:-1}
  make_shared
  two_writers "$starts"
  echo "$starts starts of each pair"
fi
