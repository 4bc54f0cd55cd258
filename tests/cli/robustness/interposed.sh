# SPDX-License-Identifier: GPL-3.0-or-later
# What seldom happens, made to happen by a library that is preloaded (tests/support/interpose.c): threads run out, an
# interrupt comes at every step of the copy of HISTORY, a disk has too little space, or loses what it took.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/robustness/jobs.sh" || exit 1
need cc
(ulimit -v 1000000 && exec idg-grid --version) >/dev/null 2>&1 || skip "sanitizers want to be loaded first"
cc -shared -fPIC -O1 -o interpose.so "$APSYN_SOURCE/tests/support/interpose.c" -ldl || fail "the library cannot be built"

with="env LD_PRELOAD=$PWD/interpose.so"
make_inputs

# However many threads there are, the output is the same, or there is none and the reason is told.
commands=('correlate -q --channels 16 --integration 5ms in.dada' 'simulate -q --array array.csv --sky sky.txt --noise 20Jy --duration 100ms'
  'beamform -q --channels 16 --centre zenith in.dada' 'search-transients -q in.fil --dm-range 0:20 --threshold 5'
  'idg-grid -q in.vis --size 128 --scale 12amin --no-psf')
went_well=0
for command in "${commands[@]}"; do
  run $command -o out
  if [ -e out ]; then mv out straight; else mv out-dirty.fits straight; fi
  for n_threads in 0 1 2 3 8; do
    expect_exit "0|1" $with APSYN_THREADS=$n_threads $command --threads 4 -o out
    expect_no_part "$command" .
    [ ! -e out-dirty.fits ] || mv out-dirty.fits out
    if [ -e out ]; then
      expect_same out straight
      went_well=$((went_well + 1))
    else
      stderr_matches ': error: .*(Resource temporarily unavailable|no thread).*ulimit -u'
    fi
    rm -f out
  done
  rm -f straight
done
[ $went_well -gt 2 ] || fail "only $went_well runs went well with few threads"

# Interrupted at whatever step of the copy of HISTORY, a set has the old table or the new one, whole, and no other.
cp -r in.ms old.ms
cp -r in.ms set.ms
run idg-degrid -q --sky sky.txt set.ms
mv set.ms new.ms # HISTORY has the name that it had
run quicklook old.ms --stats
cp "$(stdout_file)" old.json
same_history() { diff -rq --exclude table.lock "$1/HISTORY" "$2/HISTORY" >/dev/null; }
same_history old.ms new.ms
[ $? -eq 1 ] || fail "idg-degrid wrote no HISTORY"
n_old=0 n_new=0
for ((step = 1; step < 200; step += 3)); do
  rm -rf set.ms && cp -r in.ms set.ms
  expect_exit "0|130" $with APSYN_STOP=2,$step,/HISTORY.part env --default-signal=INT idg-degrid -q --sky sky.txt set.ms
  [ -z "$(find set.ms -name '*part*')" ] || fail "step $step left $(find set.ms -name '*part*')"
  if same_history set.ms old.ms; then n_old=$((n_old + 1)); elif same_history set.ms new.ms; then n_new=$((n_new + 1)); else
    fail "interrupted at step $step, HISTORY is neither the old nor the new one"
  fi
  if same_history set.ms new.ms; then break; fi
done
run quicklook set.ms --stats
expect_same "$(stdout_file)" old.json
[ $n_old -gt 5 ] && [ $n_new -eq 1 ] || fail "HISTORY was $n_old times the old and $n_new times the new one"

# idg-degrid asks for the space of a column before it touches the set: 8 bytes of each correlation.
rows=$(sed -n 's/.*"rows": *\([0-9]*\).*/\1/p' old.json | head -1)
bytes=$((rows * 4 * 4 * 8))
cp -r in.ms set2.ms
for free in 0 $((bytes - 1)); do
  expect_exit 1 $with APSYN_FREE=$free idg-degrid -q --sky sky.txt set2.ms
  expect_stderr "set2.ms: a column MODEL_DATA needs" "and the disk has"
  diff -rq --exclude table.lock set2.ms old.ms >&2 || fail "idg-degrid changed a set for which there is no space"
done
run $with APSYN_FREE=$bytes idg-degrid -q --sky sky.txt set2.ms

# Network disks tell at the close that they lost what was written.
for command in 'quicklook in-image.fits --stats' 'idg-grid --help' 'search-transients -q in.fil --dm-range 0:20 -o -' \
  'simulate -q --array array.csv --sky sky.txt --duration 1ms -o -'; do
  expect_exit 1 $with APSYN_LOSE=1 $command
  expect_stderr "standard output: cannot write: Disk quota exceeded"
done
