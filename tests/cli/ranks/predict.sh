# SPDX-License-Identifier: GPL-3.0-or-later
# Several processes that predict: the same as one process, within rounding where rows are shared; killed at any time they
# leave a set that can be read, and no images.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/cli/ranks/lib.sh" || exit 1

for field in rows layers; do
  set=$([ $field = rows ] && echo obs || echo far)
  cp -r $set.ms cleaned.ms
  run clean -q ${options[$field]} --nmiter 1 -o $field-1 cleaned.ms
  rm -r cleaned.ms
done

# Predicting alone: whole visibilities are of one layer, and come from one process.
for n in 1 4; do
  cp -r far.ms model-$n.ms
  cp -r obs.ms sky-$n.ms
  run mpirun -n $n idg-degrid -q --subgrid 32 --model layers-1-model.fits model-$n.ms
  run mpirun -n $n idg-degrid -q --sky sky.txt --subtract sky-$n.ms
  expect_no_stdout
  expect_same "$(columns model-1.ms 1)" "$(columns model-$n.ms 1)"
  expect_same "$(columns sky-1.ms 1)" "$(columns sky-$n.ms 1)"
done
cp -r far.ms dish-1.ms && cp -r far.ms dish-3.ms && cp -r obs.ms narrow-1.ms && cp -r obs.ms narrow-3.ms
for n in 1 3; do
  run mpirun -n $n idg-degrid -q --max-memory 120MB --subgrid 32 --aterms dish.conf --model layers-1-model.fits dish-$n.ms
  run mpirun -n $n idg-degrid -q --model rows-1-model.fits narrow-$n.ms
done
expect_same "$(columns dish-1.ms 1)" "$(columns dish-3.ms 1)"
# Rows that are cut elsewhere: within the accuracy of the prediction, 2e-6 (measured: 1.1e-6 at most).
expect_near_numbers <(numbers "$(columns narrow-1.ms 1)") <(numbers "$(columns narrow-3.ms 1)") 2e-6 narrow-3.ms

# What goes wrong: told once, whichever processes find it.
expect_exit 1 mpirun -n 3 idg-degrid -q --model missing-model.fits obs.ms
[ "$(grep -c 'error:' "$(stderr_file)")" = 1 ] || fail "the error is told other than once"
expect_exit 2 mpirun -n 2 clean -q ${options[rows]} -o rows-1 obs.ms
expect_stderr "exists"
# Interrupted, or one of them killed: no image, and a set that serves as before.
cp -r far.ms killed.ms
for signal in INT KILL; do
  timeout 60 mpirun -n 2 clean --size 256 --scale 30amin --niter 100000 --gain 0.02 --mgain 0.2 --nmiter 50 \
    --beam-size 60amin --update-model -o killed killed.ms >killed.out 2>&1 &
  launcher=$!
  for ((i = 0; i < 600; ++i)); do
    grep -q 'cycle 1' killed.out && break
    sleep 0.05
  done
  mpirun=$(pgrep -P $launcher) || fail "ended too early to be killed"
  case $signal in INT) kill -INT "$mpirun" ;; KILL) kill -KILL "$(pgrep -P "$mpirun" | tail -1)" ;; esac
  wait $launcher && fail "status 0 after $signal"
  expect_no_file killed-image.fits killed-model.fits killed-dirty.fits
done
run idg-degrid -q --subgrid 32 --model layers-1-model.fits killed.ms
expect_same "$(columns model-1.ms 1)" "$(columns killed.ms 1)"
