# SPDX-License-Identifier: GPL-3.0-or-later
# Several processes that clean several fields together: the same as one process within rounding.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/cli/ranks/lib.sh" || exit 1

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
