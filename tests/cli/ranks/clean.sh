# SPDX-License-Identifier: GPL-3.0-or-later
# Several processes that clean sets: the same as one process within rounding, the same bytes from run to run.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/cli/ranks/lib.sh" || exit 1

declare -A set=([rows]=obs [layers]=far [spread]=obs) many=([rows]=3 [layers]=4 [spread]=4)
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
      # As in ranks.sh for each image: measured 6e-7 where rows are shared; where layers are, 60 components that
      # differ by the rounding of float32 each, sqrt(60) x 6e-8: measured 2.5e-7. A residual is small beside the flux
      # that was taken out of it (4e-6 and 5e-7 of its own peak).
      expect_near_image $field-1-$part.fits $field-$n-$part.fits \
        $([ $part = residual ] && echo 2e-5 || { [ $field = rows ] && echo 2e-6 || echo 4.6e-7; })
    done
    [ $field = spread ] && continue
    new=$([ $field = rows ] && echo 2 || echo 1)
    paste <(columns $field-1.ms $new) <(columns $field-$n.ms $new) >pairs
    while read -r one many; do
      expect_near_numbers <(numbers "$one") <(numbers "$many") 1e-5 "$many"
    done <pairs
  done
done

# The same again.
mkdir first && mv rows-3* first && cp -r obs.ms rows-3.ms
run mpirun -n 3 clean -q ${options[rows]} -o rows-3 rows-3.ms
for part in psf model residual image; do expect_same first/rows-3-$part.fits rows-3-$part.fits; done
expect_same "$(columns first/rows-3.ms 1)" "$(columns rows-3.ms 1)"

# Groups of channels: each process makes the images of its own, as one process does, so that they are the same to the last
# bit; with the weights of the whole band the sums of these are rounded otherwise.
groups=(--size 128 --scale 1amin --niter 100 --channels-out 3)
for joined in "" --join-channels; do
  run clean -q "${groups[@]}" $joined -o groups-1$joined obs.ms
  for n in 2 3; do
    run mpirun -n $n clean -v "${groups[@]}" $joined -o groups-$n$joined obs.ms
    expect_no_stdout
    for part in 0000-dirty 0001-psf 0001-model 0002-residual 0002-image MFS-dirty MFS-image; do
      expect_near_image groups-1$joined-$part.fits groups-$n$joined-$part.fits $([ "$joined" ] && echo 2e-6 || echo 0)
    done
  done
done
run mpirun -n 4 clean -q --size 64 --scale 1amin --niter 10 --channels-out 4 -o each obs.ms
run mpirun -n 2 clean --dry-run --size 64 --scale 1amin --niter 10 --channels-out 2 obs.ms
[ "$(grep -c 'w: ' "$(stdout_file)")" = 2 ] || fail "the plans of groups are printed other than once"
# Cleaning goes on from models that other processes' groups have.
for n in 1 2; do
  run clean -q "${groups[@]}" --nmiter 1 -o going-$n obs.ms
  run mpirun -n $n clean -q "${groups[@]}" --continue -o going-$n obs.ms
done
for part in 0001-model 0002-residual MFS-image; do expect_near_image going-1-$part.fits going-2-$part.fits 0; done
