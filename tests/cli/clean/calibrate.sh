# SPDX-License-Identifier: GPL-3.0-or-later
# clean --calibrate on Measurement Sets as a user would: antennas with errors of a radian end where the true gains end,
# the gains are written and applied, and what makes no sense is refused before any work.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

cat >sky.txt <<'END'
Format = Name, Type, Ra, Dec, I
a, POINT, 02:28:01.1, -26.42.13, 40
b, POINT, 02:30:31.3, -26.10.17, 25
c, POINT, 02:25:00.8, -27.20.11, 15
d, POINT, 02:29:10.9, -27.40.22, 8
END
awk 'function normal() { return sqrt(-2 * log(1 - rand())) * cos(6.283185307179586 * rand()) }
  BEGIN {
    srand(5)
    for (i = 0; i < 256; ++i) mean += (size[i] = 0.15 * normal()) / 256
    print "antenna,pol,gain_amplitude,phase_rad"
    for (i = 0; i < 256; ++i) printf "%d,%d,%.6f,%.6f\n", i / 2, i % 2, exp(size[i] - mean), normal()
  }' </dev/null >true.csv
run simulate -q --array mwa-128t --sky sky.txt --noise 5kJy --freq 150MHz --bandwidth 1.28MHz --channels 4 --pol XX,YY \
  --duration 40s --integration 4s --phase-centre '02h28m00s -26d42m00s' -o obs.ms
run calibrate -q obs.ms --apply true.csv --corrupt --output-column RAW
image='--size 240 --scale 1amin --weight natural --auto-threshold 5'
# rms NAME: of its residual.
rms() { quicklook -q --stats "$1-residual.fits" | sed -n 's/.*"rms": \([0-9.e+-]*\).*/\1/p'; }
# worst_flux NAME: largest error of a flux in per cent; nothing if a source is missing.
worst_flux() {
  local image=$1-image.fits
  [ ! -f "$1" ] || image=$1
  measure-sources -q "$image" --sky sky.txt |
    awk 'NR > 1 { e = $4 > 1 ? $4 - 1 : 1 - $4; if (e > worst) worst = e; ++n } END { if (n == 4) print 100 * worst }'
}

# shellcheck disable=SC2086
{
  run clean -q obs.ms $image -o true
  run clean -q obs.ms --column RAW $image -o raw
  run clean obs.ms --column RAW $image --calibrate phase:20s,phase:8s,gain:all --calibrate-solutions found.h5 -o found
}
expect_stderr "phase:20s: 512 solutions" "phase:8s: 1280 solutions" "gain:all: 256 solutions"
expect_file found.h5 found-image.fits
awk -v found="$(rms found)" -v true="$(rms true)" -v raw="$(rms raw)" 'BEGIN { exit !(found > 0 && found < 1.1 * true && raw > 2 * true) }' ||
  fail "a residual of $(rms found) Jy after calibration, $(rms true) without errors, $(rms raw) with all of them"
expect_near "$(worst_flux found)" 0 3 "% of error of fluxes after calibration"

# The written gains are those that were applied: what calibrate makes of them, less the model, is the residual.
run transform -q obs.ms --column RAW -o raw.ms
run calibrate -q raw.ms --apply found.h5
run idg-degrid -q --subtract --model found-model.fits --input-column CORRECTED_DATA --output-column REST raw.ms
run idg-grid -q --column REST --size 240 --scale 1amin --weight natural --no-psf -o rest raw.ms
rest=$(quicklook -q --stats rest-dirty.fits | sed -n 's/.*"rms": \([0-9.e+-]*\).*/\1/p')
expect_near "$(awk -v a="$rest" -v b="$(rms found)" 'BEGIN { print a / b }')" 1 0.001 "residual of the written gains over that of clean"

# Channel groups, single polarisations, a model column and little memory; the same bits for any number of threads.
entries='--calibrate phase:20s,phase:8s,gain:all'
# A program with CUDA takes 9 MB more by itself.
limit=120
[[ $(clean --version) == *'architectures: none'* ]] || limit=129
# shellcheck disable=SC2086
{
  run clean -q obs.ms --column RAW $image $entries --threads 1 -o one
  run clean -q obs.ms --column RAW $image $entries --threads 3 -o three
  run clean -q obs.ms --column RAW $image $entries --channels-out 2 --join-channels --calibrate-solutions groups.h5 -o groups
  run clean -q obs.ms --column RAW $image $entries --pol XX,YY --update-model -o hands
  run clean -v obs.ms --column RAW $image $entries --max-memory ${limit}MB -o little
}
expect_stderr "predictions are kept in a temporary file"
expect_peak $limit
cmp -s <(tail -c +20000 one-residual.fits) <(tail -c +20000 three-residual.fits) || fail "the number of threads changes the residual"
for name in groups-MFS little; do
  awk -v found="$(rms $name)" -v true="$(rms true)" 'BEGIN { exit !(found > 0 && found < 1.1 * true) }' ||
    fail "$name: a residual of $(rms $name) Jy, $(rms true) without errors"
done
# The gains of both groups are in one file.
run calibrate -q raw.ms --apply groups.h5 --output-column GROUPS
run quicklook -q --stats groups.h5

# An earlier model is calibrated against before anything is cleaned: the residual is no larger.
cp one-model.fits on-model.fits && cp one-residual.fits on-residual.fits
# shellcheck disable=SC2086
run clean obs.ms --column RAW $image --calibrate phase:8s,gain:all --continue -o on
awk -v on="$(rms on)" -v one="$(rms one)" 'BEGIN { exit !(on > 0 && on < 1.05 * one) }' || fail "continued: a residual of $(rms on) Jy, $(rms one) before"

# Windows have gains of their own, which the file keeps apart. With twice the data the residual is 0.70 of one window's.
run simulate -q --array mwa-128t --sky sky.txt --noise 5kJy --freq 152MHz --bandwidth 1.28MHz --channels 4 --pol XX,YY \
  --duration 40s --integration 4s --phase-centre '02h28m00s -26d42m00s' -o high.ms
awk -F, 'NR == 1 { print; next } { printf "%s,%s,%.6f,%.6f\n", $1, $2, 1 / $3, 1 - 2 * $4 }' true.csv >other.csv
run calibrate -q high.ms --apply other.csv --corrupt --output-column RAW
run transform -q high.ms --column RAW -o raw-high.ms
run transform -q raw.ms raw-high.ms -o windows.ms
# shellcheck disable=SC2086
{
  run clean windows.ms $image --calibrate phase:20s,phase:8s,gain:all --calibrate-solutions windows.h5 -o windows
}
expect_stderr "phase:20s: 1024 solutions" "gain:all: 512 solutions"
awk -v found="$(rms windows)" -v true="$(rms true)" 'BEGIN { exit !(found > 0 && found < 0.85 * true) }' ||
  fail "two windows: a residual of $(rms windows) Jy, $(rms true) of one without errors"
expect_near "$(worst_flux windows)" 0 3 "% of error of fluxes after calibration of two windows"
run calibrate -q windows.ms --apply windows.h5
run idg-degrid -q --subtract --model windows-model.fits --input-column CORRECTED_DATA --output-column REST windows.ms
run idg-grid -q --column REST --size 240 --scale 1amin --weight natural --no-psf -o rest-windows windows.ms
rest=$(quicklook -q --stats rest-windows-dirty.fits | sed -n 's/.*"rms": \([0-9.e+-]*\).*/\1/p')
expect_near "$(awk -v a="$rest" -v b="$(rms windows)" 'BEGIN { print a / b }')" 1 0.001 "residual of the written gains of two windows over that of clean"

# Through A-terms, fluxes are those of the sky behind them.
printf 'aterms = [ beam ]\nbeam.model = airy\nbeam.diameter = 25m\n' >beam.conf
run simulate -q --array mwa-128t --sky sky.txt --aterms beam.conf --noise 5kJy --freq 150MHz --bandwidth 1.28MHz --channels 4 \
  --pol XX,YY --duration 40s --integration 4s --phase-centre '02h28m00s -26d42m00s' -o beam.ms
run calibrate -q beam.ms --apply true.csv --corrupt --output-column RAW
# shellcheck disable=SC2086
run clean -q beam.ms --column RAW $image --aterms beam.conf --calibrate phase:20s,phase:8s,gain:all -o beam
awk -v found="$(rms beam)" -v true="$(rms true)" 'BEGIN { exit !(found > 0 && found < 1.1 * true) }' ||
  fail "through a beam: a residual of $(rms beam) Jy, $(rms true) without errors"
expect_near "$(worst_flux beam-image-pb.fits)" 0 3 "% of error of fluxes behind a beam"

# Solutions without data are told of when they are more than a tenth.
dead() {
  rm -rf dead.ms && cp -r obs.ms dead.ms
  run flag -q dead.ms --antennas "$(seq -s, "$@")"
  # shellcheck disable=SC2086
  run clean dead.ms --column RAW $image --calibrate phase:all --overwrite -o dead
}
dead 3 10
! grep -q "solutions are flagged" "$(stderr_file)" || fail "8 of 128 dead antennas are called many"
dead 3 22
expect_stderr "40 of 256 solutions are flagged"

# A plan says what will be solved, and does nothing.
# shellcheck disable=SC2086
run clean obs.ms --column RAW $image $entries -o plan --calibrate-solutions plan.h5 --dry-run
expect_stdout "calibrate phase:20s: 2 intervals" "calibrate gain:all: 1 intervals" "memory: "
expect_no_file plan.h5 plan-model.fits

# What has no sense is refused with its cure, before anything is written.
run transform -q obs.ms --to vis -o obs.vis
refuses() {
  local text=$1
  shift
  # shellcheck disable=SC2086
  expect_exit 2 clean -q "$@" $image -o refused
  expect_stderr "$text"
  expect_no_file refused-model.fits
}
refuses "--calibrate gian: no such term" obs.ms --calibrate gian:10s
refuses "solve jones with calibrate before" obs.ms --calibrate jones:10s
refuses "a time above 0, or all" obs.ms --calibrate phase:0s
refuses "make a set of it with transform" obs.vis --calibrate phase:10s
refuses "calibrate --apply" obs.ms --calibrate phase:10s --intervals-out 2
refuses "idg-degrid --subtract" obs.ms --calibrate phase:10s --residual-column REST
refuses "allow at least 2" obs.ms --calibrate phase:10s,gain:all --nmiter 1
refuses "end the name in .h5" obs.ms --calibrate phase:10s --calibrate-solutions gains.csv
refuses "--pol XX,YY" obs.ms --calibrate phase:10s --pol XX
refuses "image I too" obs.ms --calibrate phase:10s --pol Q
refuses "found.h5: exists" obs.ms --calibrate phase:10s --calibrate-solutions found.h5
refuses "--calibrate" obs.ms --calibrate-solutions gains.h5
