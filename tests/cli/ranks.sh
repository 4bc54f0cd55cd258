# SPDX-License-Identifier: GPL-3.0-or-later
# Several processes on one piece of work: the same images as one process within rounding, the same bytes from run to
# run; tools that do not share work run once; what goes wrong in one process ends all and leaves nothing.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
need mpirun
"$APSYN_BIN/idg-grid" --version >/dev/null && ldd "$APSYN_BIN/idg-grid" | grep -q libmpi || skip "built without MPI"

# Machines with fewer cores, and root, are fine.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
  OMPI_MCA_btl_base_warn_component_unused=0 OMPI_MCA_mpi_yield_when_idle=1

# values FILE: the pixels, one per line.
values() {
  local cards
  cards=$(head -c 57600 "$1" | fold -w 80 | grep -an '^END ' | head -1 | cut -d: -f1)
  tail -c +$(((cards + 35) / 36 * 2880 + 1)) "$1" | od -An -v -t f4 --endian=big -w4
}
# expect_near_image A B TOLERANCE: everywhere within TOLERANCE of A's highest |pixel|; NaN at the same places.
expect_near_image() {
  paste <(values "$1") <(values "$2") | awk -v t="$3" '
    function size(x) { return x < 0 ? -x : x }
    { if (($1 ~ /nan/) != ($2 ~ /nan/)) bad = 1
      if ($1 ~ /nan/) next
      if (size($1) > peak) peak = size($1)
      if (size($1 - $2) > worst) worst = size($1 - $2) }
    END { printf "%g of the peak\n", worst / peak; exit bad || !(peak > 0) || worst > t * peak }' \
    >difference || fail "$2 differs from $1: $(cat difference)"
}

printf 'Format = Name, Type, Ra, Dec, I\na, POINT, 02:30:00, -26.42.00, 100\nb, POINT, 02:20:00, -24.42.00, 50\n' >sky.txt
run simulate -q --array mwa-32t --sky sky.txt --channels 4 --duration 16s --phase-centre '02h28m00s -26d42m00s' -o obs.ms
# Far from the zenith w is large: many layers, which processes share; in the other set a single one, whose rows are
# shared.
run simulate -q --array mwa-128t --sky sky.txt --channels 2 --duration 4s --integration 4s --start 2024-01-01T16:00:00 \
  --phase-centre '02h28m00s -26d42m00s' -o far.ms
# With A-terms, too, whose average beam counts every row once.
printf 'aterms = [ beam ]\nbeam.model = airy\nbeam.diameter = 4m\n' >dish.conf
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
  for n in 2 4; do
    run mpirun -n $n idg-grid -q ${options[$field]} -o ranks-$n-$field
    expect_no_stdout
    for part in dirty psf $([[ $field = *dish ]] && echo beam); do
      expect_file ranks-$n-$field-$part.fits
      # Layers are added up in the order of one process but for what a rank sums first: float64, then rounded to
      # float32 (measured: 0). Rows that are cut elsewhere make other subgrids, with the images' own error of 2e-6
      # (--accuracy) at most (measured: 1.1e-6).
      expect_near_image one-$field-$part.fits ranks-$n-$field-$part.fits $([[ $field = wide* ]] && echo 1.2e-7 || echo 2e-6)
    done
  done
  run mpirun -n 4 idg-grid -q ${options[$field]} -o again-$field
  for part in dirty psf; do expect_same ranks-4-$field-$part.fits again-$field-$part.fits; done
done
run mpirun -n 2 idg-grid --dry-run ${options[wide]} -o nothing
[ "$(grep -c 'w: ' "$(stdout_file)")" = 1 ] || fail "the plan is printed other than once"

# what fails
expect_exit 3 mpirun -n 2 idg-grid -q --size 64 --scale 1amin -o nothing sky.txt
expect_exit 2 mpirun -n 2 idg-grid -q ${options[small]} -o one-small
expect_stderr "exists"
expect_exit 2 mpirun -n 2 idg-grid -q --size 64 --scale 1amin -o nothing -
expect_stderr "give a file"
expect_no_file nothing-dirty.fits nothing-psf.fits
run mpirun -n 2 clean one-small-dirty.fits one-small-psf.fits --niter 10 -o once
expect_stderr "does not share its work"
expect_file once-model.fits
# a farm of tasks
run mpirun -n 2 bash -c 'simulate -q --array mwa-32t --sky sky.txt --duration 1ms -o task$OMPI_COMM_WORLD_RANK.dada'
expect_file task0.dada task1.dada
run env APSYN_RANKS=off mpirun -n 2 bash -c \
  'clean -q one-small-dirty.fits one-small-psf.fits --niter 10 -o task$OMPI_COMM_WORLD_RANK'
expect_same task0-model.fits task1-model.fits
