# SPDX-License-Identifier: GPL-3.0-or-later
# flag: what is known to be bad is flagged, reported, and given back byte for byte; streams lose the weights of it.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

printf '%s\n' 'Format = Name, Type, Ra, Dec, I' 'a, POINT, 02:30:00, -26.42.00, 100' >sky.txt
run simulate -q --array mwa-32t --sky sky.txt --channels 8 --duration 20s --integration 2s --phase-centre '02h28m00s -26d42m00s' -o obs.ms
cp -r obs.ms kept.ms
# percent FILE: of all visibilities.
percent() { sed -n 's/^ "percent": \([0-9.]*\).*/\1/p' "$1" | head -1; }

# A tenth of the time, a quarter of the channels, 31 of 496 baselines: what is left is the product.
run flag -q obs.ms --quack 2s --edges 1 --antennas 3 --report report.json --save before.h5
expect_file report.json before.h5
expect_near "$(percent report.json)" "$(awk 'BEGIN { printf "%.9f", 100 * (1 - 0.9 * 0.75 * 465 / 496) }')" 1e-6 "percentage of flags"
# FLAG alone was changed, and the subtable HISTORY.
changed=$(diff -rq --exclude table.lock kept.ms obs.ms | sed 's/^Files kept.ms.\([^ ]*\) and.*/\1/' | grep -v '^HISTORY/' | xargs)
[ "$(wc -w <<<"$changed")" -eq 1 ] || fail "changed: $changed"
run flag -q obs.ms --undo before.h5
while read -r line; do fail "$line"; done < <(diff -rq --exclude table.lock --exclude HISTORY kept.ms obs.ms)
# Flags stay, and the second time nothing is new.
run flag -q obs.ms --edges 1
cp -r obs.ms once.ms
run flag -q obs.ms --edges 1 --report again.json
expect_near "$(sed -n 's/.*"percent_before": \([0-9.]*\).*/\1/p' again.json)" 25 1e-9 "percentage before"
expect_near "$(percent again.json)" 25 1e-9 "percentage after"
# Nothing is written with --no-write, nor with --dry-run.
rm -rf obs.ms && cp -r kept.ms obs.ms
run transform -q obs.ms --phase-centre '08h00m00s -26d42m00s' -o low.ms
for elevation in 5deg:0 60deg:100; do
  run flag -q low.ms --elevation ${elevation%:*} --no-write --report -
  expect_near "$(percent "$(stdout_file)")" ${elevation#*:} 0 "percentage of elevations below ${elevation%:*}"
done
run flag --dry-run obs.ms --edges 1
expect_stdout "memory:"
diff -r --exclude table.lock kept.ms obs.ms >&2 || fail "--no-write or --dry-run changed the set"
# Cells of flags that begin within a byte.
run transform -q obs.ms --channel-range 0 3 -o odd.ms
cp -r odd.ms odd-kept.ms
run flag -q odd.ms --antennas 0,5 --edges 1 --save odd.h5 --report odd.json
run flag -q odd.ms --undo odd.h5
while read -r line; do fail "$line"; done < <(diff -rq --exclude table.lock --exclude HISTORY odd-kept.ms odd.ms)

# A stream: the same share has lost its weight.
run transform -q obs.ms -o obs.vis
run flag -q obs.vis --edges 1 --antennas 3 --report stream.json -o flagged.vis
expect_near "$(percent stream.json)" "$(awk 'BEGIN { printf "%.9f", 100 * (1 - 0.75 * 465 / 496) }')" 1e-6 "percentage of a stream"
run transform -q flagged.vis -o flagged.ms
flag -q - --edges 1 --antennas 3 -o - <obs.vis | transform -q -o piped.ms
expect_same <(cat flagged.ms/table.f*_TSM0) <(cat piped.ms/table.f*_TSM0) "flags through pipes"
run flag -q flagged.ms --non-finite --no-write --report flagged.json
expect_near "$(percent flagged.json)" "$(percent stream.json)" 1e-6 "percentage of its set"

# What is wrong is told, and nothing is changed.
expect_exit 2 flag obs.ms
expect_stderr "nothing to look for"
expect_exit 2 flag obs.ms --edges 1 -o out.ms
expect_stderr "flags go into the Measurement Set itself"
expect_exit 2 flag obs.vis --edges 1
expect_stderr "--output: missing"
expect_exit 2 flag obs.ms --antennas nobody
expect_exit 2 flag obs.ms --shadow
expect_stderr "no antenna has a diameter"
expect_exit 2 flag obs.ms --undo before.h5 --edges 1
expect_exit 2 flag obs.ms --strategy nosuchstrategy
expect_stderr "--strategy nosuchstrategy"
expect_exit 3 flag odd.ms --undo before.h5
expect_stderr "before.h5"
expect_exit 3 flag obs.ms --undo sky.txt
expect_exit 1 flag obs.ms --undo nosuch.h5
expect_exit 2 flag obs.ms --edges 1 --save before.h5
expect_stderr "before.h5"
diff -r --exclude table.lock kept.ms obs.ms >&2 || fail "a run with wrong options changed the set"

# Killed at any moment the set opens, and another run completes it.
cp -r kept.ms whole.ms
run flag -q whole.ms --edges 2 --antennas 4
RANDOM=20240101
for _ in 1 2 3 4 5 6; do
  rm -rf killed.ms && cp -r kept.ms killed.ms
  flag -q killed.ms --edges 2 --antennas 4 2>/dev/null &
  sleep "0.$(printf %03d $((RANDOM % 200)))"
  kill -KILL $! 2>/dev/null
  { wait $!; } 2>/dev/null
  run transform -q killed.ms -o read.ms --overwrite
  run flag -q killed.ms --edges 2 --antennas 4
  while read -r line; do fail "$line"; done < <(diff -rq --exclude table.lock --exclude HISTORY whole.ms killed.ms)
done

# A strategy, where there is AOFlagger: the bytes do not depend on the threads, nor on how many baselines fit.
strategy=${APSYN_STRATEGY:-generic}
if ! flag --dry-run obs.ms --strategy "$strategy" >/dev/null 2>&1; then
  expect_exit "1|2" flag obs.ms --strategy "$strategy"
  expect_stderr "AOFlagger"
  exit
fi
run simulate -q --array mwa-32t --sky sky.txt --noise 20000Jy --duration 400ms -o noise.dada
run correlate -q noise.dada --channels 16 --integration 10ms --phase-centre '02h28m00s -26d42m00s' -o noise.ms
for threads in 1 3; do
  cp -r noise.ms "threads-$threads.ms"
  run flag -q "threads-$threads.ms" --strategy "$strategy" --threads "$threads"
done
diff -rq --exclude table.lock --exclude HISTORY threads-1.ms threads-3.ms >&2 || fail "flags depend on the number of threads"
cp -r noise.ms little.ms
run flag -v little.ms --strategy "$strategy" --threads 1 --max-memory 70MB
diff -rq --exclude table.lock --exclude HISTORY threads-1.ms little.ms >&2 || fail "flags depend on the memory"

# Flag by flag what AOFlagger's own program finds.
command -v aoflagger >/dev/null || exit 0
cp -r noise.ms theirs.ms
run aoflagger -strategy "$strategy" theirs.ms
diff -rq --exclude table.lock --exclude HISTORY --exclude 'QUALITY*' --exclude table.dat threads-1.ms theirs.ms >&2 || fail "other flags than aoflagger's"
