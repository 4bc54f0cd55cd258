# SPDX-License-Identifier: GPL-3.0-or-later
# clean as a user runs it: names, errors, exit codes, complete outputs or none, going on, masks, blanks.
source "$APSYN_SOURCE/tests/cli/lib.sh"

make_fits a-dirty.fits 64 '2 * gauss(x - 7, y - 5) + gauss(x + 12, y + 9)'
make_fits a-psf.fits 128 'gauss(x, y)'

# One name, two names, any name; what is printed.
expect_exit 0 clean a --niter 200
stderr_matches 'fitted beam: 4[0-9.]* asec x 4[0-9.]* asec'
stderr_matches 'I: 200 components; stopped: number of iterations reached; peak residual .*, flux in model (2\.99|3|3\.0)'
for part in model residual image; do expect_file a-$part.fits; done
expect_exit 0 clean a-dirty.fits a-psf.fits -o b --niter 200 --threads 1
for part in model residual image; do
  # Only the command in HISTORY and with it the checksum differ.
  expect_same <(tail -c +5761 a-$part.fits) <(tail -c +5761 b-$part.fits) "$part depends on names or threads"
done
expect_exit 0 clean a-dirty.fits -o c --niter 10
expect_exit 0 bash -c 'clean - a-psf.fits -o d --niter 10 < a-dirty.fits'
expect_exit 0 clean a-dirty.fits a-psf.fits -o 'e(b)[1]' --niter 1
expect_file 'e(b)[1]-image.fits'

# Existing outputs are kept, replaced on request, and gone on from.
expect_exit 2 clean a --niter 1
expect_stderr 'a-model.fits'
expect_exit 0 clean a --niter 200 --overwrite
expect_exit 0 clean a-dirty.fits a-psf.fits -o once --niter 60
expect_exit 0 clean a-dirty.fits a-psf.fits -o twice --niter 30
expect_exit 0 clean a-dirty.fits a-psf.fits -o twice --niter 30 --continue
once=$(clean a-dirty.fits a-psf.fits -o once --niter 60 --overwrite 2>&1 | grep -o 'flux in model [0-9.]*')
twice=$(clean a-dirty.fits a-psf.fits -o twice --niter 0 --continue 2>&1 | grep -o 'flux in model [0-9.]*')
[ "${once:0:19}" = "${twice:0:19}" ] || fail "60 components: $once; 30 and 30 more: $twice"
expect_exit 1 clean a-dirty.fits a-psf.fits -o never --niter 1 --continue

# Reasons to stop.
expect_exit 0 clean a --threshold 100mJy --overwrite
expect_stderr 'stopped: threshold of 0.1 Jy reached'
expect_exit 0 clean a --niter 100 --stop-negative --overwrite
expect_exit 0 clean a --auto-threshold 3 --mgain 0.5 --niter 5000 --overwrite
expect_stderr 'stopped: '

# A mask leaves one source alone; blank pixels stay blank and are never picked.
make_fits mask.fits 64 'x > 0 ? 1 : 0'
expect_exit 0 clean a --niter 200 --mask mask.fits --overwrite
stderr_matches 'flux in model (1\.9|2|2\.0)'
printf '#CRTFv0\ncircle[[39pix, 37pix], 8pix]\n' >mask.crtf
expect_exit 0 clean a --niter 200 --mask mask.crtf --overwrite
stderr_matches 'flux in model (1\.9|2|2\.0)'
printf '#CRTFv0\ncircle[[00h39m54s, -29.59.10], 80arcsec], coord=J2000\n' >mask.crtf
expect_exit 0 clean a --niter 200 --mask mask.crtf --overwrite
stderr_matches 'flux in model (1\.9|2|2\.0)'
# DS9 counts pixels from 1. Its region of a circle gives the model of CASA's, in pixels and on the sky.
printf '#CRTFv0\ncircle[[39pix, 37pix], 8pix]\n' >pixels.crtf
printf '# Region file format: DS9 version 4.1\nimage\ncircle(40,38,8)\n' >pixels.reg
mv mask.crtf sky.crtf
printf '# Region file format: DS9 version 4.1\nfk5\ncircle(0:39:54,-29:59:10,80")\n' >sky.reg
for region in pixels sky; do
  expect_exit 0 clean a -o casa --niter 200 --mask $region.crtf --overwrite
  expect_exit 0 clean a -o ds9 --niter 200 --mask $region.reg --overwrite
  expect_same <(tail -c 16384 casa-model.fits) <(tail -c 16384 ds9-model.fits) "another model with $region.reg"
done
printf '# Region file format: DS9 version 4.1\nimage\ncircle(40,38)\n' >wrong.reg
expect_exit 3 clean a -o never --niter 200 --mask wrong.reg
expect_stderr 'wrong.reg: line 3: '
printf '#CRTFv0\ncircle[[39pix, 37deg], 8pix]\n' >mask.crtf
expect_exit 3 clean a --niter 200 --mask mask.crtf --overwrite
expect_stderr 'mask.crtf: line 2: '
make_fits h-dirty.fits 64 'x * x + y * y > 600 ? "blank" : 2 * gauss(x - 7, y - 5)'
cp a-psf.fits h-psf.fits
expect_exit 0 clean h --niter 200
stderr_matches 'flux in model (1\.99|2|2\.0)'
make_fits n-dirty.fits 64 '"blank"'
cp a-psf.fits n-psf.fits
expect_exit 1 clean n --niter 200
expect_stderr 'no usable data'
[ ! -e n-model.fits ] || fail "outputs of an image without data"

# Components lie up to the edges unless a border is given; a PSF no larger than the image warns of them.
make_fits edge-dirty.fits 64 'gauss(x - 30, y) + 0.5 * gauss(x, y)'
cp a-psf.fits edge-psf.fits
expect_exit 0 clean edge --threshold 10mJy
stderr_matches 'flux in model 1\.[45]'
! grep -q warning "$(stderr_file)" || fail "a warning where the PSF is larger"
expect_exit 0 clean edge --threshold 10mJy --clean-border 10 --overwrite
stderr_matches 'flux in model 0\.5'
make_fits edge-psf.fits 64 'gauss(x, y)'
expect_exit 0 clean edge --threshold 10mJy --overwrite
stderr_matches 'warning: edge-psf.fits: a PSF of 64 x 64 pixels for an image of 64 x 64: .*--psf-size.*--clean-border 5'
stderr_matches 'flux in model 1\.[45]'
expect_exit 0 clean edge --threshold 10mJy --clean-border 5 --overwrite
stderr_matches 'flux in model 1\.0' # of what reaches over the border
! grep -q warning "$(stderr_file)" || fail "a warning where --clean-border was given"

# Sub-images, whatever the number of threads; a single loop when one holds it all.
make_fits wide-dirty.fits 160 'gauss(x - 60, y - 50) + 0.8 * gauss(x + 62, y + 59) + 0.6 * gauss(x + 1, y)'
make_fits wide-psf.fits 320 'gauss(x, y)'
for threads in 1 2; do
  expect_exit 0 clean wide --threshold 10mJy --parallel-deconvolution 80 --threads $threads -o wide$threads
  stderr_matches 'flux in model 2\.[34]'
done
expect_same <(tail -c +5761 wide1-model.fits) <(tail -c +5761 wide2-model.fits) "sub-images depend on threads"

# Beams.
expect_exit 0 clean a --niter 1 --beam-size 30asec --overwrite
stderr_matches 'given beam: 30.* asec x 30.* asec'
expect_exit 0 clean a --niter 1 --beam-size 40asec,30asec,10deg --overwrite
for beam in 30 30asec,40asec,0deg 30asec,20asec 0asec nonsense; do
  expect_exit 2 clean a --niter 1 --beam-size "$beam" --overwrite
done

# Usage.
expect_exit 2 clean a --overwrite
expect_stderr '--niter, --threshold or --auto-threshold'
mkdir folder obs && : >obs/table.dat
for arguments in 'obs.ms' 'obs/' 'a-dirty.fits a-psf.fits third' 'a -o -' '-' '- -' 'mask.fits a-psf.fits' \
  'a --gain 0' 'a --gain 2' 'a --threshold 5' 'a --threshold -1Jy' 'a --algorithm none' 'a --scales 0,5' \
  'a --fit-spectral-pol 2' 'a --beam-size 30asec --circular-beam' 'a --auto-threshold 5 --auto-mask 3' \
  'a --no-negative --stop-negative' 'a --niter -5' 'a --niter 1.5' 'a --niter 1 --clean-border 50' \
  'a --niter 1 --algorithm hogbom --parallel-deconvolution 64' 'a --niter 1 --parallel-deconvolution 3'; do
  # shellcheck disable=SC2086
  expect_exit 2 clean $arguments --niter 1 --overwrite
done
for name in nothing folder; do
  expect_exit 1 clean $name --niter 1
  expect_stderr "$name-dirty.fits"
done
expect_exit 2 clean obs.ms --niter 1
expect_stderr '--size'
expect_exit 2 clean a --niter 1 --overwrite --size 64
stderr_matches '--size: goes with Measurement Sets'
expect_exit 4 clean a --niter 1 --overwrite --device cuda:77

# Files that do not fit, are no images or end early.
make_fits other-psf.fits 128 'gauss(x - 3, y)'
expect_exit 3 clean a-dirty.fits other-psf.fits -o bad --niter 1
stderr_matches 'other-psf.fits: .*peak'
sed 's/-2.777777777777778E-3/-2.000000000000000E-3/' a-psf.fits >cells-psf.fits
expect_exit 3 clean a-dirty.fits cells-psf.fits -o bad --niter 1
expect_exit 3 clean a --mask a-psf.fits -o bad --niter 1
echo text >text.fits
expect_exit 3 clean a-dirty.fits text.fits -o bad --niter 1
for size in 0 80 2000 2880 5000 10000; do
  head -c "$size" a-dirty.fits >cut.fits
  expect_exit 3 clean cut.fits a-psf.fits -o bad --niter 1
  expect_stderr "$size"
done
expect_exit 1 clean a-dirty.fits missing.fits -o bad --niter 1
expect_exit 1 clean a-dirty.fits a-psf.fits -o missing/bad --niter 1
ls | grep -E '^bad|\.part$' && fail "outputs of a failed run"

# A plan writes nothing; too little memory is an error.
expect_exit 0 clean a-dirty.fits a-psf.fits -o plan --niter 7 --dry-run
expect_stdout 'a-dirty.fits, 64 x 64 pixels'
expect_stdout 'plan-image.fits'
ls plan* 2>/dev/null && fail "a dry run wrote"
expect_exit 1 clean a-dirty.fits a-psf.fits -o bad --niter 1 --max-memory 100kB
expect_stderr 'max-memory'

# Algorithms and beams.
for algorithm in hogbom clark multiscale; do
  expect_exit 0 clean a -o "by-$algorithm" --algorithm $algorithm --niter 2000 --threshold 10mJy
  stderr_matches 'flux in model (2\.9[0-9]*|3|3\.0[0-9]*)'
done
expect_exit 0 clean a -o round --niter 100 --circular-beam
expect_exit 0 clean a -o bare --niter 100 --beam-size none
expect_file bare-model.fits
[ ! -e bare-image.fits ] || fail "an image without a beam"
expect_exit 0 clean a -o masked --niter 1000 --auto-mask 5 --auto-threshold 1 --local-rms 10
make_fits empty.fits 64 '0'
expect_exit 0 clean a -o unmasked --niter 100 --mask empty.fits
expect_stderr 'nothing left to clean'
make_fits small-psf.fits 24 'gauss(x, y)'
expect_exit 0 clean a-dirty.fits small-psf.fits -o small --niter 300
stderr_matches 'flux in model (2\.9[0-9]*|3|3\.0[0-9]*)'
make_fits point-psf.fits 64 'x == 0 && y == 0 ? 1 : 0'
expect_exit 1 clean a-dirty.fits point-psf.fits -o point --niter 10
expect_stderr 'smaller cells or give the beam'
expect_exit 0 clean a-dirty.fits point-psf.fits -o point --niter 10 --beam-size 30asec
# A PSF that is too low next to its peak leaves more than it takes.
make_fits wrong-psf.fits 128 'x == 0 && y == 0 ? 1 : y == 0 && x * x == 1 ? -0.95 : 0'
expect_exit 0 clean a-dirty.fits wrong-psf.fits -o wrong --niter 5000 --beam-size 30asec
stderr_matches 'diverging: the peak has grown from .* to .* within'

# The list of components.
expect_exit 0 clean a -o list --niter 300 --save-source-list
expect_file list-sources.txt
awk -F, 'NR == 1 && !/^Format = Name, Type, Ra, Dec, I/ { exit 1 }
         NR > 1 { sum += $5 } END { exit !(sum > 2.9 && sum < 3.1) }' list-sources.txt || fail "the list of components"

# Channel groups.
for group in 0000 0001 0003; do
  make_fits "g-$group-dirty.fits" 64 '2 * gauss(x - 7, y - 5) + gauss(x + 12, y + 9)' "1$((10#$group))0"
  cp a-psf.fits "g-$group-psf.fits"
done
expect_exit 0 clean g --join-channels --niter 300 --fit-spectral-pol 2 --save-source-list
expect_stderr '3 joined channels'
for part in 0000 0001 0003 MFS; do
  for kind in model residual image; do expect_file g-$part-$kind.fits; done
done
expect_file g-sources.txt
grep -q '],false,114333333.3,' g-sources.txt || fail "no spectrum in the list: $(sed -n 2p g-sources.txt)"
expect_exit 0 clean g -o joined --join-channels --niter 300 --fit-spectral-log-pol 2 --deconvolution-channels 2
expect_exit 0 clean g --join-channels --niter 100 --continue
for group in 0000 0001; do
  cp a-dirty.fits "no-$group-dirty.fits"
  cp a-psf.fits "no-$group-psf.fits"
done
expect_exit 3 clean no --join-channels --niter 10 --fit-spectral-pol 2
expect_stderr 'no-0000-dirty.fits: no frequency'
expect_exit 2 clean g --join-channels --niter 100
expect_stderr 'g-0000-model.fits'
