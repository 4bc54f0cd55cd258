# SPDX-License-Identifier: GPL-3.0-or-later
# Several processes that calibrate while they clean: the gains and images of one process within rounding, the same bytes from
# run to run, where rows are shared, where w layers are, and where two sets and two channel groups are.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/cli/ranks/lib.sh" || exit 1

awk 'BEGIN { print "antenna,pol,gain_amplitude,phase_rad"
  for (n = 0; n < 128; ++n) for (p = 0; p < 2; ++p) printf "%d,%d,%.6f,%.6f\n", n, p, exp(0.1 * sin(3 * n + p)), 0.8 * sin(5 * n + 2 * p) }' >true.csv
for name in obs far; do
  awk -F, -v n=$([ $name = obs ] && echo 32 || echo 128) 'NR == 1 || $1 < n' true.csv >gains.csv
  run calibrate -q $name.ms --apply gains.csv --corrupt --output-column RAW
  run transform -q $name.ms --column RAW -o $name-raw.ms
done
run transform -q obs-raw.ms --interval 0 8 -o first.ms
run transform -q obs-raw.ms --interval 8 16 -o last.ms

declare -A own=(
  [rows]="--size 128 --scale 1amin --niter 100 --nmiter 4 --calibrate phase:8s,gain:all obs-raw.ms"
  [layers]="--size 128 --scale 10amin --subgrid 32 --aterms dish.conf --niter 60 --nmiter 3 --beam-size 30amin --calibrate phase:all,gain:all far-raw.ms"
  [sets]="--size 128 --scale 1amin --niter 100 --nmiter 3 --channels-out 2 --join-channels --calibrate phase:8s,gain:all first.ms last.ms"
)
declare -A many=([rows]=3 [layers]=4 [sets]=2) parts=([rows]=- [layers]=- [sets]="-0001- -MFS-")
for name in rows layers sets; do
  n=${many[$name]}
  # shellcheck disable=SC2086
  {
    run clean -q ${own[$name]} --calibrate-solutions $name-1.h5 -o $name-1
    run mpirun -n $n clean -v ${own[$name]} --calibrate-solutions $name-$n.h5 -o $name-$n
  }
  [ "$(grep -c 'info: times:' "$(stderr_file)")" = 1 ] || fail "$name on $n: not one process speaks"
  for part in ${parts[$name]}; do
    for image in psf dirty model image; do expect_near_image $name-1$part$image.fits $name-$n$part$image.fits 2e-6; done
    # A residual is small beside the flux that was taken out of it. Measured 2e-5 at most.
    expect_near_image $name-1${part}residual.fits $name-$n${part}residual.fits 2e-4
  done
  for file in $name-1 $name-$n; do quicklook -q --stats $file.h5 | sed -n '/"tables"/,/]/p' >$file.tables; done
  expect_same $name-1.tables $name-$n.tables
done

# The same again, and from an earlier model.
mkdir first && mv rows-3* first
# shellcheck disable=SC2086
{
  run mpirun -n 3 clean -q ${own[rows]} --calibrate-solutions rows-3.h5 -o rows-3
  for part in psf model residual image; do expect_same first/rows-3-$part.fits rows-3-$part.fits; done
  run clean -q ${own[rows]} --continue -o rows-1
  run mpirun -n 3 clean -q ${own[rows]} --continue -o rows-3
}
for image in model image; do expect_near_image rows-1-$image.fits rows-3-$image.fits 2e-6; done
