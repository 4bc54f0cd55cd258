# SPDX-License-Identifier: GPL-3.0-or-later
# clean of Measurement Sets: fluxes, positions and noise of a known sky, the loop of single tools, going on, A-terms,
# columns, data that do not fit into memory, several fields and parts of the band, interruption, wrong usage.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

# sources SEED: 20 sources of 0.2 to 1 Jy on a grid that is shaken, half of them in the middle of pixels of 36 arcsec.
sources() {
  awk -v seed="$1" 'BEGIN {
    srand(seed); r = atan2(0, -1) / 180; s = sin(-26.7 * r); c = cos(-26.7 * r)
    print "Format = Name, Type, Ra, Dec, I"
    for (i = 0; i < 20; ++i) {
      x = int((i % 5 - 2) * 90 + 60 * rand() - 30); y = int((int(i / 5) - 1.5) * 105 + 60 * rand() - 30)
      if (i >= 10) { x += 0.25 + 0.5 * rand(); y += 0.25 + 0.5 * rand() }
      l = -x * r / 100; m = y * r / 100; t = sqrt(1 - l * l - m * m)
      printf "%s%d, POINT, %.14gdeg, %.14gdeg, %.3f\n", i < 10 ? "on" : "off", i, \
        41 + atan2(l, t * c - m * s) / r, atan2(m * c + t * s, sqrt(l * l + (t * c - m * s) ^ 2)) / r, \
        0.2 + 0.8 * ((i * 7) % 20) / 19
    }
  }'
}
# observe SKY SET [OPTIONS]: near opposition, so that sources stay on their pixels.
observe() {
  local sky=$1 set=$2
  shift 2
  run simulate -q --array mwa-128t --sky "$sky" --freq 150MHz --bandwidth 30.72MHz --channels 8 --pol XX,YY \
    --phase-centre '02h44m00s -26d42m00s' --start 2024-10-24T16:29:00 --integration 4min --seed 3 -o "$set" "$@"
}
# pixels FILE: as bytes; values FILE: one per line; rms FILE; rms_between FILE FILE.
pixels() {
  local cards
  cards=$(head -c 57600 "$1" | fold -w 80 | grep -an '^END ' | head -1 | cut -d: -f1)
  tail -c +$(((cards + 35) / 36 * 2880 + 1)) "$1"
}
values() { pixels "$1" | od -An -v -t f4 --endian=big -w4; }
rms() { values "$1" | awk '{ sum += $1 * $1; ++n } END { printf "%.6g", sqrt(sum / n) }'; }
rms_between() { paste <(values "$1") <(values "$2") | awk '{ sum += ($1 - $2) ^ 2; ++n } END { printf "%.6g", sqrt(sum / n) }'; }
same_pixels() { expect_same <(pixels "$1") <(pixels "$2") "$1 and $2 differ"; }
# worst COLUMN PATTERN TABLE: the largest |column - 1|, or |column| of offsets, over the sources that match.
worst_flux() { awk -v name="$1" '$1 ~ "^" name { e = $4 > 1 ? $4 - 1 : 1 - $4; if (e > worst) worst = e } END { print 100 * worst }' "$2"; }
worst_offset() { awk 'NR > 1 { if ($7 !~ /^[0-9.]+$/) exit; if ($7 > worst) worst = $7 } END { print (NR > 20 ? worst : 9) }' "$1"; }

sources 5 >sky.txt
sed '2,$s/[0-9.]*$/0/' sky.txt >dark.txt
observe sky.txt bright.ms --duration 32min --noise 2kJy
observe sky.txt noisy.ms --duration 32min --noise 10kJy
observe dark.txt noise.ms --duration 32min --noise 10kJy
image='--size 512 --scale 36asec --weight briggs:0'

# Photometry. Measured: in the middle of pixels 0.03 %, elsewhere 0.08 %, 0.0008 beams.
# shellcheck disable=SC2086
run clean bright.ms $image --algorithm clark --auto-threshold 5 -o a --save-source-list
for part in dirty psf model residual image; do expect_file a-$part.fits; done
expect_file a-sources.txt
measure-sources a-image.fits --sky sky.txt >a.txt 2>/dev/null
expect_near "$(worst_flux on a.txt)" 0 0.1 "% of error of fluxes in the middle of pixels"
expect_near "$(worst_flux off a.txt)" 0 1 "% of error of fluxes elsewhere"
expect_near "$(worst_offset a.txt)" 0 0.05 "offset in beams"

# Whatever ends it above the threshold, it says how far; what ended there does not.
# shellcheck disable=SC2086
run clean -q bright.ms $image --algorithm clark --auto-threshold 5 -o ended
[ ! -s "$(stderr_file)" ] || fail "a warning of a run that reached its threshold"
for limit in '--nmiter 1' '--niter 30'; do
  # shellcheck disable=SC2086
  run clean -q bright.ms $image --algorithm clark --auto-threshold 5 $limit -o ended --overwrite
  expect_stderr 'clean: warning: cleaning ended above its threshold: a peak of' 'times the threshold of'
done

# Two antennas see fringes. Cleaned in four corners, which are farther apart than the PSF of the image's size reaches,
# every cycle takes the source four times: the next one begins higher than the last, and that ends it. What is told is
# what is left then, 10 Jy less 4 times 8, and not what the cycle left.
cat >two.csv <<'END'
name,east_m,north_m,up_m
A,0,0,0
B,5.453,0,0
END
printf 'Format = Name, Type, Ra, Dec, I\na, POINT, 74.0deg, -21.88deg, 10\n' >corner.txt
run simulate -q --array two.csv --site=-26.7deg,116.67deg,377m --sky corner.txt --freq 150MHz --bandwidth 10kHz \
  --duration 1s --pol XX,YY -o two.ms
make_fits corners.fits 64 '(x == -32 || x == 31) && (y == -32 || y == 31) ? 1 : 0'
run clean two.ms --size 64 --scale 1deg --weight natural --threshold 1mJy --mask corners.fits --beam-size 3deg -o fringes
expect_stderr 'clean: warning: CLEAN diverged' 'it diverged' 'components in 2 major cycles'
left=$(sed -n 's/.*above its threshold: a peak of \([0-9.]*\) Jy is left.*/\1/p' "$(stderr_file)")
expect_near "$left" 22 1 "Jy that are left when a major cycle diverged"

# What is left is the noise, which is the same without the sources: 1.04 times its RMS.
# shellcheck disable=SC2086
run clean -q noisy.ms $image --algorithm clark --auto-mask 4 --auto-threshold 1 -o b
# shellcheck disable=SC2086
run idg-grid -q --no-psf $image -o noise noise.ms
expect_near "$(awk -v a="$(rms b-residual.fits)" -v b="$(rms noise-dirty.fits)" 'BEGIN { print a / b }')" 1 0.05 \
  "RMS of the residual over that of the noise"

# The last residual is exact: that of the data less the model in its file, by the tools for one step each. Two passes of
# float32 visibilities differ by their rounding, 6e-8 of 12 Jy in each: measured 6e-9 Jy.
run idg-degrid -q bright.ms --model a-model.fits --subtract --output-column LEFT
# shellcheck disable=SC2086
run idg-grid -q --no-psf --column LEFT $image -o left bright.ms
expect_near "$(rms_between left-dirty.fits a-residual.fits)" 0 1e-7 "Jy between the residual and that of single tools"

# A smaller set for the rest: the same pixels whatever --threads is.
observe sky.txt obs.ms --duration 8min --noise 2kJy
small='--size 256 --scale 60asec --weight briggs:0 --algorithm clark --threshold 20mJy'
# shellcheck disable=SC2086
{
  run clean -q --threads 1 obs.ms $small -o t1
  run clean -q --threads 2 obs.ms $small -o t2
}
for part in dirty psf model residual image; do same_pixels t1-$part.fits t2-$part.fits; done

# Little memory: data in a file, residual visibilities in memory of their own or in a file too. The blocks are others,
# and the image is the same but for rounding: measured 4e-9 Jy.
many=$(printf 'obs.ms %.0s' {1..12})
wide='--size 400 --scale 60asec --beam-size 4amin --niter 100'
# A build with CUDA counts 9 MB for its code.
code=0
clean --version | grep -q 'architectures: none' || code=9
# shellcheck disable=SC2086
{
  run clean -q --threads 2 $many $wide -o whole
  run clean -v --threads 2 $many $wide -o filed --max-memory $((118 + code))MB
  expect_peak $((118 + code))
  expect_stderr 'of visibilities are kept in memory' 'residual visibilities are kept in a temporary file in .'
  run clean -q --threads 2 obs.ms $wide -o one
  run clean -v --threads 2 obs.ms $wide --max-memory $((110 + code))MB -o kept
  expect_peak $((110 + code))
  expect_stderr 'residual visibilities are kept in memory'
}
expect_near "$(rms_between whole-image.fits filed-image.fits)" 0 1e-6 "Jy between images with data in memory and in a file"
expect_near "$(rms_between one-image.fits kept-image.fits)" 0 1e-6 "Jy between images made in one pass and in two"

# Going on is as not having ended, but for the rounding of residuals that are gridded beside a PSF: measured 2e-9 Jy.
# shellcheck disable=SC2086
{
  run clean -q obs.ms $small -o cut --nmiter 2
  run clean -q obs.ms $small -o cut --continue
}
same_pixels t1-dirty.fits cut-dirty.fits
expect_near "$(rms_between t1-image.fits cut-image.fits)" 0 1e-4 "Jy between a run in one go and one in two"
# shellcheck disable=SC2086
expect_exit 2 clean obs.ms $small -o cut
expect_stderr 'cut-dirty.fits'

# Columns: the model's is that of idg-degrid, and data less model are those that the residual is made of.
# shellcheck disable=SC2086
run clean -q obs.ms $small -o cut --continue --niter 0 --update-model --residual-column LEFT
run idg-degrid -q obs.ms --model cut-model.fits --column AGAIN
columns=$(ls -v obs.ms/table.f*_TSM0 | tail -3)
read -r model left again <<<"$(echo $columns)"
expect_same "$model" "$again"
[ -s "$left" ] || fail "no column of residuals"
# shellcheck disable=SC2086
run idg-grid -q --no-psf --column LEFT --size 256 --scale 60asec --weight briggs:0 -o left obs.ms --overwrite
expect_near "$(rms_between left-dirty.fits t1-residual.fits)" 0 1e-7 "Jy between the residual and that of the column"

# Several sets, parts of the band, and centres together.
# shellcheck disable=SC2086
{
  cp -r obs.ms again.ms
  run clean -q obs.ms again.ms $small -o two
  run clean obs.ms $small --channels-out 2 --join-channels -o parts
}
expect_near "$(rms_between t1-image.fits two-image.fits)" 0 1e-4 "Jy between a set and the same set twice"
for part in 0000 0001 MFS; do expect_file parts-$part-{dirty,psf,model,residual,image}.fits; done
# Parts that are cleaned together are weighed together.
# shellcheck disable=SC2086
run clean -q obs.ms $small --niter 1 --channels-out 2 --join-channels --no-mf-weighting -o apart
for name in together apart; do
  weighting=$([ $name = together ] && echo --mf-weighting)
  # shellcheck disable=SC2086
  run idg-grid -q obs.ms --size 256 --scale 60asec --weight briggs:0 --channels-out 2 $weighting -o $name-grid
done
# Measured: 4e-10; the two weightings differ by 3e-3.
expect_near "$(rms_between together-grid-0000-psf.fits parts-0000-psf.fits)" 0 1e-6 "PSFs of joined groups"
expect_near "$(rms_between apart-grid-0000-psf.fits apart-0000-psf.fits)" 0 1e-6 "PSFs of groups weighed by themselves"
# shellcheck disable=SC2086
expect_exit 2 clean obs.ms $small --channels-out 2 --no-mf-weighting -o apart
expect_stderr 'clean: error: --no-mf-weighting: without --join-channels'
measure-sources parts-MFS-image.fits --sky sky.txt >parts.txt 2>/dev/null
expect_near "$(worst_flux o parts.txt)" 0 6 "% of error of fluxes, cleaned to 20 mJy, in two parts of the band"
run clean -q obs.ms --size 98 --scale 60asec --shift '02h44m00s -26d42m00s' --shift '02h50m49.5s -25d01m57s' --niter 300 -o at
expect_file at-f0-image.fits at-f1-image.fits
[ ! -s "$(stderr_file)" ] || fail "a warning of images that have no sky in common"
run clean -q obs.ms --size 110 --scale 60asec --shift '02h44m00s -26d42m00s' --shift '02h50m49.5s -25d01m57s' --niter 1 -o at --dry-run
expect_stderr 'clean: warning: the images f0 and f1 overlap'

# Intervals of time, each cleaned by itself as --interval has it: the same bytes but for HISTORY.
clean -q obs.ms $small --intervals-out 100000 -o x 2>times.txt && fail "more intervals than integrations"
n_times=$(sed -n 's/.*the data have \([0-9]*\) integrations.*/\1/p' times.txt)
run clean -q obs.ms $small --niter 20 --intervals-out 2 -o time
expect_no_file time-image.fits time-t0002-image.fits
for k in 0 1; do
  run clean -q obs.ms $small --niter 20 --interval $((k * n_times / 2)) $(((k + 1) * n_times / 2)) -o alone --overwrite
  for kind in image model residual psf; do
    expect_same <(float_pixels alone-$kind.fits) <(float_pixels time-t000$k-$kind.fits) "interval $k has another $kind"
  done
done
expect_exit 2 clean -q obs.ms $small --niter 20 --intervals-out 2 -o time
expect_stderr "time-t0000"

# Each message tells the flux of its own planes: the sky has no Q.
run clean obs.ms --size 256 --scale 60asec --pol I,Q --threshold 10uJy --niter 20 --nmiter 1 -o planes
flux_of() { sed -n "s/.*cycle 1 $1: .*flux in model \\([-0-9.e]*\\) Jy.*/\\1/p" "$(stderr_file)"; }
expect_near "$(flux_of Q)" 0 0.1 "Jy of Q in the model, as it is told"
expect_near "$(flux_of I)" 1.5 0.5 "Jy of I in the model, as it is told"

# A-terms: great waves of electrons, taken out.
night='--start 2024-10-24T16:29:00 --duration 4min'
# shellcheck disable=SC2086
run simulate -q $night --tec-rms 5TECU --outer-scale 800km --screen-spacing 150km --screen-size 600km \
  --screen-interval 4min -o screens.fits
run simulate -q --array mwa-128t --sky sky.txt --freq 150MHz --bandwidth 1.28MHz --channels 2 --pol XX,YY \
  --phase-centre '02h44m00s -26d42m00s' --start 2024-10-24T16:29:00 --duration 4min --integration 4min --noise 500Jy \
  --ionosphere screens.fits -o bent.ms
printf 'aterms = [ screen ]\nscreen.images = [ screens.fits ]\nscreen.update_interval = 2\n' >aterms.conf
# shellcheck disable=SC2086
run clean -q bent.ms $small --aterms aterms.conf -o straight
expect_file straight-{image,image-pb,model-pb,beam}.fits
for kind in image model; do
  # Not through a pipe, which head may find closed once grep has seen enough.
  grep -aq 'PBCOR   = *1' <(head -c 8640 straight-$kind-pb.fits) || fail "straight-$kind-pb.fits does not say that it is over the beam"
  expect_file straight-$kind.fits
  ! grep -aq PBCOR <(head -c 8640 straight-$kind.fits) || fail "straight-$kind.fits says that it is over the beam"
done
measure-sources straight-image-pb.fits --sky sky.txt >straight.txt 2>/dev/null
expect_near "$(worst_flux o straight.txt)" 0 6 "% of error of fluxes through the ionosphere"
expect_near "$(worst_offset straight.txt)" 0 0.05 "offset in beams through the ionosphere"

# Where the beam of a dish is below a thousandth of its peak, and beyond the horizon, the true sky is not known: NaN, and
# a model of 0; elsewhere it is the image over the beam. No component lies where the beam is weak.
awk 'BEGIN { srand(2); print "name,east_m,north_m,up_m"; for (i = 0; i < 12; ++i) print "A" i "," 20 * rand() "," 20 * rand() ",0" }' >close.csv
run simulate -q --array close.csv --site=-26.7deg,116.67deg,377m --sky corner.txt --freq 150MHz --bandwidth 10kHz \
  --duration 1s --pol XX,YY -o dish.ms
printf 'aterms = [ beam ]\nbeam.model = airy\nbeam.diameter = 4m\n' >dish.conf
run clean -q dish.ms --size 66 --scale 2deg --weight natural --niter 300 --beam-size 5deg --aterms dish.conf -o dish
paste <(values dish-beam.fits) <(values dish-image.fits) <(values dish-image-pb.fits) <(values dish-model.fits) \
  <(values dish-model-pb.fits) | awk '
  function near(a, b) { d = a - b; if (d < 0) d = -d; return d <= 1e-4 * (b < 0 ? -b : b) + 1e-7 }
  NR > 66 * 66 { exit } # the file is filled up with zeros
  { ++n; beam[NR] = $1; image[NR] = $2; image_pb[NR] = $3; model[NR] = $4; model_pb[NR] = $5
    if ($1 !~ /nan/ && $1 > peak) peak = $1 }
  END {
    for (i = 1; i <= n; ++i)
      if (beam[i] ~ /nan/) { ++beyond; bad += image_pb[i] !~ /nan/ || model_pb[i] != 0 }
      else if (beam[i] < 0.000999 * peak) { ++weak; bad += image_pb[i] !~ /nan/ || model_pb[i] != 0 || model[i] != 0 }
      else if (beam[i] > 0.001001 * peak) {
        ++seen; bad += !near(image_pb[i] * beam[i], image[i]) || !near(model_pb[i] * beam[i], model[i])
      }
    print beyond + 0, weak + 0, seen + 0, bad + 0
  }' >pixels.txt
read -r beyond weak seen bad <pixels.txt
[ "$beyond" -gt 100 ] && [ "$weak" -gt 20 ] && [ "$seen" -gt 1000 ] && [ "$bad" = 0 ] ||
  fail "beyond the horizon $beyond, weak $weak, seen $seen pixels: $bad of them wrong"

# No data, wrong usage, too little memory, an interruption: nothing is left.
# shellcheck disable=SC2086
{
  expect_exit 1 clean obs.ms $small --minuv-l 1e7 -o none
  expect_stderr 'no usable data'
  expect_exit 2 clean obs.ms $small --max-memory 1MB -o none
  expect_exit 1 clean missing.ms $small -o none
  expect_exit 2 clean obs.ms $small -o -
  expect_exit 2 clean obs.ms $small -o none --residual-column DATA
  expect_exit 2 clean obs.ms $small -o none --update-model --model-column FLAG
  expect_exit 1 clean obs.ms $small -o none --continue
  expect_exit 1 clean obs.ms $small -o missing/none
  expect_exit 0 clean obs.ms $small -o none --dry-run
  expect_stdout 'visibilities'
}
expect_exit 2 clean obs.ms --size 64 -o none --niter 1
expect_exit 2 clean obs.ms --size 64 --scale 1amin -o none
# shellcheck disable=SC2086
for pause in 0.05 0.3 0.6; do timeout -s INT $pause clean -q bright.ms $image --niter 100000 --threshold 1mJy -o none; done
ls -A | grep -E '^\.|^none|\.part$' && fail "files of runs that failed"
exit 0
