# SPDX-License-Identifier: GPL-3.0-or-later
# Several processes on one image: the same as one process within rounding, the same bytes from run to run; work that
# is not shared is done once; what goes wrong in one process ends all and leaves nothing.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
need_mpi

make_shared_sets
# With A-terms, too, whose average beam counts every row once.
declare -A options=(
  [wide]="--size 256 --scale 5amin --pol IQUV --subgrid 24 far.ms"
  [wide_dish]="--size 128 --scale 10amin --subgrid 32 --aterms dish.conf far.ms"
  [small]="--size 64 --scale 1amin obs.ms"
  [small_dish]="--size 64 --scale 2amin --aterms dish.conf obs.ms"
)
for field in wide wide_dish small small_dish; do
  run idg-grid --dry-run ${options[$field]} -o plan
  layers=$(sed -n 's/^w: \([0-9]*\) layers.*/\1/p' "$(stdout_file)")
  case $field in wide*) [ "$layers" -gt 4 ] ;; *) [ "$layers" = 1 ] ;; esac || fail "$field has $layers layers"
done
for field in wide wide_dish small small_dish; do
  run idg-grid -q ${options[$field]} -o one-$field
  for n in $([[ $field = *dish ]] || echo 2) 4; do
    run mpirun -n $n idg-grid -q ${options[$field]} -o ranks-$n-$field
    expect_no_stdout
    for part in dirty psf $([[ $field = *dish ]] && echo beam); do
      expect_file ranks-$n-$field-$part.fits
      # The subgrids are those of one process, but a layer that two ranks share is added up in two parts: float32
      # sums of hundreds of subgrids, sqrt(100) x 2^-24 (measured: 0, with A-terms 3e-7). Rows that are cut
      # elsewhere make other subgrids, with errors of their own of 2e-6 RMS (--accuracy) in each image, at single
      # pixels up to twice that: sqrt(2) x 2 x 2e-6 (measured: 4e-7, with A-terms 3.9e-6).
      expect_near_image one-$field-$part.fits ranks-$n-$field-$part.fits $([[ $field = wide* ]] && echo 6e-7 || echo 5.7e-6)
    done
  done
  [[ $field = wide || $field = small_dish ]] || continue # layers are shared, and rows
  mkdir first-$field && mv ranks-4-$field-*.fits first-$field
  run mpirun -n 4 idg-grid -q ${options[$field]} -o ranks-4-$field
  for part in dirty psf; do expect_same first-$field/ranks-4-$field-$part.fits ranks-4-$field-$part.fits; done
done
# More than 2^20 pixels travel in parts.
run idg-grid -q --size 1100 --scale 20asec --no-psf -o one-large obs.ms
run mpirun -n 2 idg-grid -q --size 1100 --scale 20asec --no-psf -o ranks-large obs.ms
expect_near_image one-large-dirty.fits ranks-large-dirty.fits 5.7e-6
run mpirun -n 2 idg-grid --dry-run ${options[wide]} -o nothing
[ "$(grep -c 'w: ' "$(stdout_file)")" = 1 ] || fail "the plan is printed other than once"

# what fails
expect_exit 3 mpirun -n 2 idg-grid -q --size 64 --scale 1amin -o nothing sky.txt
expect_exit 2 mpirun -n 3 idg-grid -q ${options[small]} -o one-small
expect_stderr "exists"
[ "$(grep -c 'error:' "$(stderr_file)")" = 1 ] || fail "the error is told other than once"
expect_exit 2 mpirun -n 2 idg-grid -q --size 64 --scale 1amin -o nothing -
expect_stderr "give a file"
expect_no_file nothing-dirty.fits nothing-psf.fits
# A launcher that does not end the others when a process fails, which here wait for it.
for failing in 0 1; do
  TIME_LIMIT=30 expect_exit 3 mpirun --mca orte_abort_on_non_zero_status 0 -n 2 bash -c \
    "idg-grid -q --size 64 --scale 1amin -o nothing \$([ \$OMPI_COMM_WORLD_RANK = $failing ] && echo sky.txt || echo obs.ms)"
  expect_stderr "sky.txt"
done
run mpirun -n 2 clean one-small-dirty.fits one-small-psf.fits --niter 10 -o once
expect_stderr "is not shared"
expect_file once-model.fits
# a farm of tasks
run mpirun -n 2 bash -c 'simulate -q --array mwa-32t --sky sky.txt --duration 1ms -o task$OMPI_COMM_WORLD_RANK.dada'
expect_file task0.dada task1.dada
run env APSYN_RANKS=off mpirun -n 2 bash -c \
  'clean -q one-small-dirty.fits one-small-psf.fits --niter 10 -o task$OMPI_COMM_WORLD_RANK'
expect_same <(float_pixels task0-model.fits) <(float_pixels task1-model.fits)
