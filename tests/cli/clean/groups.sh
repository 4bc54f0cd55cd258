# SPDX-License-Identifier: GPL-3.0-or-later
# clean of several images together when some are blank, narrow, or seen through a beam: neither NaN nor an abort.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

# pixel FILE X Y: of a one-plane float32 image of 64 pixels a side, from 0.
pixel() {
  local cards
  cards=$(head -c 57600 "$1" | fold -w 80 | grep -an '^END ' | head -1 | cut -d: -f1)
  tail -c +$(((cards + 35) / 36 * 2880 + ($3 * 64 + $2) * 4 + 1)) "$1" | head -c 4 | od -An -t f4 --endian=big | tr -d ' '
}
two='2 * gauss(x - 7, y - 5) + gauss(x + 12, y + 9)'

# A group without data, as WSClean leaves one, is left out: the others are as without it, joined or not.
for group in 0000 0001 0002; do
  make_fits "g-$group-dirty.fits" 64 "$two" "1${group:3}0"
  make_fits "g-$group-psf.fits" 128 'gauss(x, y)' "1${group:3}0"
done
make_fits g-0001-dirty.fits 64 '"blank"' 110
make_fits g-0001-psf.fits 128 '"blank"' 110
for group in 0000 0002; do cp g-$group-dirty.fits h-$group-dirty.fits && cp g-$group-psf.fits h-$group-psf.fits; done
for options in '--join-channels' '' '--join-channels --fit-spectral-pol 2'; do
  # shellcheck disable=SC2086
  {
    run clean g --niter 300 --overwrite $options
    expect_stderr 'g-0001-dirty.fits: no usable data: left out'
    run clean -q h --niter 300 --overwrite $options
  }
  for kind in model residual image; do
    expect_same <(tail -c 16384 g-MFS-$kind.fits) <(tail -c 16384 h-MFS-$kind.fits) "another mean $kind with '$options'"
  done
  expect_no_file g-0001-image.fits
  expect_near "$(pixel g-MFS-image.fits 39 37)" 2 0.02 "Jy/beam of the brighter source"
done
# Going on leaves it out again, rather than to ask for the files that it never had.
run clean g --niter 400 --continue --join-channels
expect_stderr 'g-0001-dirty.fits: no usable data: left out'
run clean -q h --niter 400 --continue --join-channels
expect_same <(tail -c 16384 g-MFS-image.fits) <(tail -c 16384 h-MFS-image.fits) "another image after --continue"
for group in 0000 0002; do make_fits "g-$group-dirty.fits" 64 '"blank"' 100; done
expect_exit 1 clean g -o none --join-channels --niter 10
expect_stderr 'no usable data'
expect_no_file none-MFS-image.fits

# A group of weight 0 takes no part; weights of 0 alone are no data.
make_fits h-0000-dirty.fits 64 '5 * gauss(x, y)' 100
LC_ALL=C sed -i "s/OBJECT  = 'made up'   /WSCIMGWG= 0           /" h-0000-dirty.fits
run clean h --join-channels --niter 300 --overwrite
expect_near "$(pixel h-MFS-image.fits 32 32)" 0 0.05 "Jy/beam where only the group of weight 0 has a source"
LC_ALL=C sed -i "s/OBJECT  = 'made up'   /WSCIMGWG= 0           /" h-0002-dirty.fits
expect_exit 1 clean h --join-channels --niter 300 --overwrite
expect_stderr 'no usable data: its weight (WSCIMGWG) is 0'

# A group whose PSF has no beam to fit takes its neighbour's; when none has one, it is an error that tells the cure.
for group in 0000 0001; do
  make_fits "p-$group-dirty.fits" 64 "$two" 100
  make_fits "p-$group-psf.fits" 128 'gauss(x, y)' 100
done
make_fits p-0001-psf.fits 128 'x == 0 && y == 0 ? 1 : 0' 100
run clean p --niter 5
expect_stderr 'p-0001-dirty.fits: the PSF' 'restored with the beam of p-0000-dirty.fits'
expect_file p-0000-image.fits p-0001-image.fits p-MFS-image.fits
cp p-0001-psf.fits p-0000-psf.fits
expect_exit 1 clean p --niter 5 --overwrite
expect_stderr 'smaller cells or give the beam'

# Images over the primary beam: one that is beside the dirty image, or named; its peak need not be in the middle.
make_fits b-dirty.fits 64 "$two"
make_fits b-psf.fits 128 'gauss(x, y)'
make_fits b-beam.fits 64 'x > 25 ? 0 : 2 * exp(-((x - 7) ^ 2 + (y - 5) ^ 2) / 800)'
run clean b --niter 500
expect_file b-image-pb.fits b-model-pb.fits
expect_near "$(pixel b-image-pb.fits 39 37)" 1 0.01 "Jy/beam of a source at the peak of a beam of 2"
ratio=$(awk -v a="$(pixel b-image.fits 20 23)" -v b="$(pixel b-image-pb.fits 20 23)" 'BEGIN { print a / b }')
expect_near "$ratio" "$(awk 'BEGIN { print 2 * exp(-(19 ^ 2 + 14 ^ 2) / 800) }')" 2e-4 "beam at the other source"
expect_near "$(pixel b-model-pb.fits 60 20)" 0 0 "Jy/pixel of the model beyond the beam"
[[ $(pixel b-image-pb.fits 60 20) = *nan* ]] || fail "a value beyond the beam"
make_fits b-beam.fits 64 '0'
expect_exit 3 clean b --niter 5 --overwrite
expect_stderr 'b-beam.fits: no pixel is above 0'
make_fits small.fits 32 '1'
expect_exit 3 clean b --niter 5 --overwrite --primary-beam small.fits
expect_stderr 'small.fits: 32 x 32'
expect_exit 1 clean b --niter 5 --overwrite --primary-beam missing.fits
# A dirty image that is over the beam already, as idg-grid's, is not divided again.
LC_ALL=C sed -i "s/OBJECT  = 'made up'   /PBCOR   = 1           /" b-dirty.fits
run clean b -o c --niter 5
expect_no_file c-image-pb.fits
expect_exit 2 clean b -o c --niter 5 --primary-beam b-beam.fits --overwrite
expect_stderr 'PBCOR'
exit 0
