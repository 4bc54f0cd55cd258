# SPDX-License-Identifier: GPL-3.0-or-later
# clean --calibrate on several Measurement Sets: the same gains and images as of the set that joining them makes, whether
# they divide time or channels; antennas go by their names; what cannot be one array is refused.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

cat >sky.txt <<'END'
Format = Name, Type, Ra, Dec, I
a, POINT, 02:28:01.1, -26.42.13, 40
b, POINT, 02:30:31.3, -26.10.17, 25
c, POINT, 02:25:00.8, -27.20.11, 15
END
awk 'BEGIN { srand(9); print "# site -26.7 116.67 377\nname,east_m,north_m,up_m"
  for (n = 0; n < 40; ++n) printf "A%d,%.2f,%.2f,0\n", n, (rand() - 0.5) * 2000, (rand() - 0.5) * 2000 }' >array.csv
awk 'BEGIN { print "antenna,pol,gain_amplitude,phase_rad"
  for (n = 0; n < 40; ++n) for (p = 0; p < 2; ++p) printf "%d,%d,%.6f,%.6f\n", n, p, exp(0.15 * sin(3 * n + p)), 1.2 * sin(5 * n + 2 * p) }' >true.csv
# make NAME OPTIONS...: NAME.ms with true.csv's errors, or those of $gains, of products $pol.
gains=true.csv pol=XX,YY
make() {
  local name=$1
  shift
  run simulate -q --sky sky.txt --noise 2kJy --bandwidth 1.28MHz --channels 4 --pol $pol --integration 4s \
    --phase-centre '02h28m00s -26d42m00s' "$@" -o exact-$name.ms
  run calibrate -q exact-$name.ms --apply $gains --corrupt --output-column RAW
  run transform -q exact-$name.ms --column RAW -o $name.ms
  rm -rf exact-$name.ms
}
options='--size 200 --scale 1amin --weight natural --auto-threshold 5 --calibrate phase:20s,phase:8s,gain:all'
rms() { quicklook -q --stats "$1-residual.fits" | sed -n 's/.*"rms": \([0-9.e+-]*\).*/\1/p'; }
# same ONE OTHER: images to the rounding of float32, the residual's less the flux taken out of it: measured 2e-7 and 4e-5.
same() {
  local part
  for part in psf dirty model image; do expect_near_image $1-$part.fits $2-$part.fits 2e-6; done
  expect_near_image $1-residual.fits $2-residual.fits 5e-4
}

# Two halves of one set.
make obs --array array.csv --freq 150MHz --duration 40s
run transform -q obs.ms --interval 0 4 -o first.ms
run transform -q obs.ms --interval 4 10 -o last.ms
# shellcheck disable=SC2086
{
  run clean -q obs.ms $options --calibrate-solutions obs.h5 -o whole
  run clean last.ms first.ms $options --calibrate-solutions halves.h5 -o halves
}
expect_stderr "phase:8s: 400 solutions" "gain:all: 80 solutions"
same whole halves
for file in obs halves; do
  run quicklook -q --stats $file.h5
  sed -n 's/.*"amplitude_\(mean\|rms\)": *\([0-9.e+-]*\).*/\2/p; s/.*"flagged_fraction": *\([0-9.e+-]*\).*/\1/p' "$(stdout_file)" >$file.numbers
done
expect_same obs.numbers halves.numbers

# The file has the gains of both sets, which calibrate applies to each: what they leave is clean's residual.
for name in first last; do
  run calibrate -q $name.ms --apply halves.h5
  run idg-degrid -q --subtract --model halves-model.fits --input-column CORRECTED_DATA --output-column REST $name.ms
done
run idg-grid -q --column REST --size 200 --scale 1amin --weight natural --no-psf -o rest first.ms last.ms
rest=$(quicklook -q --stats rest-dirty.fits | sed -n 's/.*"rms": \([0-9.e+-]*\).*/\1/p')
expect_near "$(awk -v a="$rest" -v b="$(rms halves)" 'BEGIN { print a / b }')" 1 0.001 "residual of the written gains over that of clean"

# Two bands at the same times, with gains of their own.
awk -F, 'NR == 1 { print; next } { printf "%s,%s,%.6f,%.6f\n", $1, $2, 1 / $3, 1 - 2 * $4 }' true.csv >other.csv
gains=other.csv make high --array array.csv --freq 152MHz --duration 40s
run transform -q obs.ms high.ms -o bands.ms
# shellcheck disable=SC2086
{
  run clean -q bands.ms $options -o bands
  run clean obs.ms high.ms $options --calibrate-solutions two.h5 -o two
}
expect_stderr "phase:8s: 800 solutions" "gain:all: 160 solutions"
same bands two
run calibrate -q high.ms --apply two.h5

# Antennas in another order, ten minutes later: names tell which is which, in one solution for both.
awk 'NR < 3 { print; next } { line[NR] = $0 } END { for (n = NR; n > 2; --n) print line[n] }' array.csv >reversed.csv
awk -F, 'NR == 1 { print; next } { printf "%d,%s,%s,%s\n", 39 - $1, $2, $3, $4 }' true.csv >reversed-gains.csv
gains=reversed-gains.csv make later --array reversed.csv --freq 150MHz --duration 40s --start 2024-01-01T12:10:00
# shellcheck disable=SC2086
run clean obs.ms later.ms $options -o orders
expect_stderr "phase:8s: 800 solutions" "gain:all: 80 solutions"
awk -v both="$(rms orders)" -v one="$(rms whole)" 'BEGIN { exit !(both > 0 && both < 0.85 * one) }' ||
  fail "a residual of $(rms orders) Jy with antennas in another order, $(rms whole) of one set"

# Windows that not all times have are no missing solutions; memory holds for several sets, too.
make late-high --array array.csv --freq 152MHz --duration 40s --start 2024-01-01T12:10:00
# shellcheck disable=SC2086
{
  run clean obs.ms late-high.ms $options -o apart
  ! grep -q "solutions are flagged" "$(stderr_file)" || fail "windows of other times are called flagged"
  run clean obs.ms high.ms $options --dry-run
}
expect_stdout "calibrate phase:20s: 2 intervals" "memory: "

# What cannot be calibrated as one.
refuses() {
  local text=$1
  shift
  # shellcheck disable=SC2086
  expect_exit 2 clean -q "$@" $options -o refused
  expect_stderr "$text"
  expect_no_file refused-model.fits
}
sed 's/^A7,\([-0-9.]*\)/A7,999/' array.csv >moved.csv
make moved --array moved.csv --freq 154MHz --duration 8s
pol=XX,XY,YX,YY make four --array array.csv --freq 154MHz --duration 8s
run transform -q obs.ms --to vis -o obs.vis
refuses "antenna A7 of obs.ms lies" obs.ms moved.ms
refuses "four.ms has other products than obs.ms" obs.ms four.ms
refuses "make a set of it with transform" obs.ms obs.vis
