# SPDX-License-Identifier: GPL-3.0-or-later
# Several processes that predict and clean: the same as one process within rounding, the same bytes from run to run;
# killed at any time they leave a set that can be read, and no images.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
need_mpi

make_shared_sets
# A new column is stored by itself, as float32 in tiles, in the last of the set's files.
columns() { ls -v "$1"/table.f*_TSM0 | tail -"$2"; }
numbers() { od -An -v -t f4 -w4 "$1"; }

# The major cycles, and the columns that they leave.
declare -A options=(
  [rows]="--size 128 --scale 1amin --pol IQUV --niter 100 --update-model --residual-column LEFT"
  [layers]="--size 128 --scale 10amin --subgrid 32 --aterms dish.conf --niter 60 --beam-size 30amin --update-model"
  [spread]="--size 64 --scale 150amin --niter 60 --beam-size 300amin"
)
declare -A set=([rows]=obs [layers]=far [spread]=obs) many=([rows]=3 [layers]="2 4" [spread]=4)
for field in rows layers spread; do
  run clean --dry-run ${options[$field]} ${set[$field]}.ms
  layers=$(sed -n 's/^w: \([0-9]*\) layers.*/\1/p' "$(stdout_file)")
  case $field in rows) [ "$layers" = 1 ] ;; *) [ "$layers" -ge 4 ] ;; esac || fail "$field has $layers layers"
  cp -r ${set[$field]}.ms $field-1.ms
  run clean -q ${options[$field]} -o $field-1 $field-1.ms
  for n in ${many[$field]}; do
    cp -r ${set[$field]}.ms $field-$n.ms
    run mpirun -n $n clean -v ${options[$field]} -o $field-$n $field-$n.ms
    expect_no_stdout
    [ "$(grep -c 'info: times:' "$(stderr_file)")" = 1 ] || fail "$field on $n: not one process speaks"
    for part in dirty psf model residual image; do
      # As in ranks.sh for each image: measured 6e-7 where rows are shared, 2e-8 where layers are; a residual is
      # small beside the flux that was taken out of it (4e-6 and 5e-7 of its own peak).
      expect_near_image $field-1-$part.fits $field-$n-$part.fits \
        $([ $part = residual ] && echo 2e-5 || { [ $field = rows ] && echo 2e-6 || echo 1.2e-7; })
    done
    [ $field = spread ] && continue
    new=$([ $field = rows ] && echo 2 || echo 1)
    paste <(columns $field-1.ms $new) <(columns $field-$n.ms $new) >pairs
    while read -r one many; do
      expect_near_numbers <(numbers "$one") <(numbers "$many") 1e-5 "$many"
    done <pairs
  done
done
# Fields with a source each: of each the whole model is taken out of the same visibilities, whatever w layers these have
# in it; with A-terms, whatever rows it cuts them into.
printf 'Format = Name, Type, Ra, Dec, I\na, POINT, 02:04:00, -12.00.00, 100\nb, POINT, 03:12:00, -48.42.00, 90\n' >two.txt
run simulate -q --array mwa-128t --sky two.txt --channels 2 --duration 4s --integration 4s --start 2024-01-01T16:00:00 \
  --phase-centre '02h28m00s -26d42m00s' -o two.ms
cp -r obs.ms dishes.ms
two=(--size 48 --scale 20amin --subgrid 32 --niter 40 --nmiter 3 --beam-size 60amin --shift '02h04m00s -12d00m00s'
  --shift '03h12m00s -48d42m00s')
dishes=(--size 48 --scale 15amin --aterms dish.conf --niter 40 --nmiter 3 --beam-size 45amin --shift '02h28m00s -26d42m00s'
  --shift '02h10m00s -25d00m00s')
for what in two dishes; do
  declare -n fields=$what
  run clean -q "${fields[@]}" -o $what-1 $what.ms
  for n in $([ $what = two ] && echo "2 3" || echo 3); do
    run mpirun -n $n clean -q "${fields[@]}" -o $what-$n $what.ms
    for f in f0 f1; do
      for part in dirty model residual; do  # measured: 2.4e-6 at most
        expect_near_image $what-1-$f-$part.fits $what-$n-$f-$part.fits $([ $part = residual ] && echo 2e-5 || echo 5e-6)
      done
    done
  done
done
mkdir first && mv rows-3* first && cp -r obs.ms rows-3.ms
run mpirun -n 3 clean -q ${options[rows]} -o rows-3 rows-3.ms
for part in psf model residual image; do expect_same first/rows-3-$part.fits rows-3-$part.fits; done
expect_same "$(columns first/rows-3.ms 1)" "$(columns rows-3.ms 1)"

# Predicting alone: whole visibilities are of one layer, and come from one process.
for n in 1 2 4; do
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
  run mpirun -n $n idg-degrid -q --max-memory 60MB --subgrid 32 --aterms dish.conf --model layers-1-model.fits dish-$n.ms
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
  timeout 60 mpirun -n 2 clean --size 256 --scale 30amin --niter 100 --nmiter 50 --beam-size 60amin --update-model \
    -o killed killed.ms >killed.out 2>&1 &
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
