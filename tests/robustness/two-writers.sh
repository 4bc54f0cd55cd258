# SPDX-License-Identifier: GPL-3.0-or-later
# Two runs that want the same output, or change the same set, started together: sourced after lib.sh, or run as
# tests/robustness/run.sh two-writers.sh [STARTS [SEED [PAIR...]]] (1000 starts of all pairs take hours). One of them
# refuses, or both end well one after the other; nothing is lost, and what the loser says is true.

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

# whole SUFFIX COMMAND COMMAND: what each of the runs writes undisturbed to out.SUFFIX, moved to whole-1 and whole-2: the
# name is in the history.
whole() {
  rm -rf whole-* "out$1"
  run $2 -o "out$1" && mv "out$1" whole-1
  run $3 -o "out$1" && mv "out$1" whole-2
}

# one_output_often STARTS SUFFIX COMMAND COMMAND: the output is new, or replaced.
one_output_often() {
  local i
  whole "$2" "$3" "$4"
  for ((i = 0; i < $1; ++i)); do
    one_output "out$2" "$3" "$4"
    one_output "out$2" "$3" "$4" --overwrite
  done
}

# one_group_often STARTS COMMAND COMMAND: several outputs out* each, which replace older ones: all are then of one run.
one_group_often() {
  local i n path
  for n in 1 2; do
    rm -rf whole-$n && mkdir whole-$n && ln -s ../in.ms ../in.dada whole-$n/ # the names are in the history
    (cd whole-$n && if [ $n = 1 ]; then run $2; else run $3; fi)
  done
  for ((i = 0; i < $1; ++i)); do
    rm -rf out*
    for path in whole-1/out*; do echo older >"${path#whole-1/}"; done
    start_both "$2 --overwrite" "$3 --overwrite"
    [ $((first * second)) = 0 ] || fail "both failed: $(cat said-1 said-2)"
    expect_refusal $first said-1 1 2
    expect_refusal $second said-2 1 2
    n=0
    if same_group whole-1 || same_group whole-2; then n=1; fi
    ((n)) || fail "$2 and $3: the outputs are of different runs: $(cat said-1 said-2)"
    ! compgen -G 'out*.part' >/dev/null || fail "left behind: $(echo out*.part)"
  done
}
same_group() {
  local path
  for path in "$1"/out*; do cmp -s "$path" "${path#"$1"/}" || return 1; done
}

pair_columns() {
  local i
  for ((i = 0; i < $1; ++i)); do two_columns; done
}
# clean adds a column at its end to a set that it has locked since its start.
pair_clean() {
  local i column
  for ((i = 0; i < $1; ++i)); do
    rm -rf set.ms out-* && cp -r in.ms set.ms
    start_both 'clean -q set.ms --size 64 --scale 10amin --niter 10 --update-model -o out' \
      'idg-degrid -q --sky sky.txt --column TWO_DATA set.ms'
    [ $((first * second)) = 0 ] || fail "both failed: $(cat said-1 said-2)"
    expect_refusal $first said-1 1
    expect_refusal $second said-2 1
    for column in $([ $first != 0 ] || echo MODEL_DATA) $([ $second != 0 ] || echo TWO_DATA); do
      run idg-grid -q set.ms --column $column --size 64 --scale 10amin --no-psf --overwrite -o seen
    done
  done
}
pair_sets() {
  local make="simulate -q --array array.csv --noise 100Jy --duration 2s"
  one_output_often "$1" .ms "$make --seed 1" "$make --seed 2"
}
pair_tools() {
  one_output_often "$1" .ms 'correlate -q --channels 8 --integration 5ms in.dada' \
    "ingest -q --from uvfits $APSYN_SOURCE/tests/data/VLBA-M87-mojave.uvfits"
}
pair_files() {
  local make="simulate -q --array array.csv --noise 100Jy --duration 10ms"
  one_output_often "$1" .dada "$make --seed 1" "$make --seed 2"
}
pair_images() {
  local make="idg-grid -q in.ms --size 64 --scale 10amin -o out"
  one_group_often "$1" "$make --weight natural" "$make --weight uniform"
}
pair_beams() {
  local make="beamform -q --channels 16 --centre zenith --bits 8 in.dada -o out.fil"
  one_group_often "$1" "$make --integrate 4" "$make --integrate 8"
}
# A set that one run changes is not replaced by another.
pair_replaced() {
  local i
  for ((i = 0; i < $1; ++i)); do
    rm -rf set.ms && cp -r in.ms set.ms
    start_both 'idg-degrid -q --sky sky.txt --column ONE_DATA set.ms' \
      'simulate -q --array array.csv --noise 100Jy --duration 4s --overwrite -o set.ms'
    [ $((first * second)) = 0 ] || fail "both failed: $(cat said-1 said-2)"
    expect_refusal $first said-1 1
    expect_refusal $second said-2 2
    run idg-grid -q set.ms --size 64 --scale 10amin --no-psf --overwrite -o seen
    ! compgen -G 'set.ms.*part' >/dev/null || fail "left behind: $(echo set.ms.*part)"
  done
}
# Who reads a set is not disturbed by one that adds a column, nor disturbs it.
pair_read() {
  local i
  for ((i = 0; i < $1; ++i)); do
    rm -rf set.ms && cp -r in.ms set.ms
    start_both 'idg-degrid -q --sky sky.txt --column ONE_DATA set.ms' \
      'idg-grid -q set.ms --size 64 --scale 10amin --no-psf --overwrite -o seen'
    [ $((first + second)) = 0 ] || fail "reading while a column is added: $(cat said-1 said-2)"
  done
}
all_pairs="columns clean sets tools files images beams replaced read"

# two_writers STARTS [PAIR...]
two_writers() {
  local pair starts=$1
  shift
  for pair in ${*:-$all_pairs}; do
    pair_$pair "$starts"
    echo "$pair: $starts starts"
  done
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
  starts=${1:-1000}
  RANDOM=${2:-1}
  make_shared
  two_writers "$starts" "${@:3}"
fi
