# SPDX-License-Identifier: GPL-3.0-or-later
# idg-grid on a real set: outputs, options, errors, determinism.
source "$APSYN_SOURCE/tests/cli/idg-grid/lib.sh" || exit 1
small="--size 64 --scale 30asec --column CORRECTED_DATA"

run idg-grid $small -o a "$set"
expect_file a-dirty.fits a-psf.fits
expect_no_stdout
expect_near "$(card a-psf.fits CRPIX1)" 33 0 CRPIX1
# 3C 48, 73 Jy in these data, is at the phase centre: the middle pixel (32, 32) is the peak of both.
middle() { pixels "$1" | od -An -v -t f4 --endian=big -N $((4 * 64 * 64)) -w4 | awk -v n=$((32 * 64 + 33)) 'NR == n { print $1 }'; }
expect_near "$(middle a-psf.fits)" 1 1e-6 "the PSF's peak"
expect_near "$(middle a-dirty.fits)" 73 1.5 "3C 48"

# The PSF's main lobe falls to one half 14 arcsec from its middle towards the north-east. Wider than a pixel it is told.
[ -z "$(card a-psf.fits BMAJ)" ] || fail "a beam narrower than a pixel in BMAJ"
run idg-grid --size 200 --scale 2asec --weight briggs:0 --column CORRECTED_DATA -o fine "$set"
for image in fine-dirty.fits fine-psf.fits; do
  expect_near "$(card $image BMAJ)" 0.0076 2e-4 "BMAJ of $image"
  expect_near "$(card $image BMIN)" 0.0027 2e-4 "BMIN of $image"
  expect_near "$(card $image BPA)" 66 2 "BPA of $image"
done

# The same bytes whatever the number of threads, or the number of passes that the memory allows.
mkdir all-threads && cp a-*.fits all-threads
for threads in 1 3; do
  run idg-grid $small -o a --overwrite --threads $threads "$set"
  for part in dirty psf; do expect_same all-threads/a-$part.fits a-$part.fits "$threads threads give another $part"; done
done

# One image to a pipe; one output without the other; polarisations; sizes as given. Loops over one plane and over two
# round differently where the processor has no AVX-512: 2.3e-7 of the peak.
idg-grid -q $small --no-psf -o - "$set" >piped.fits || fail "no image on standard output"
expect_near_image a-dirty.fits piped.fits 2e-6
run idg-grid $small --psf-only -o p "$set"
expect_near_image a-psf.fits p-psf.fits 2e-6
expect_no_file p-dirty.fits
run idg-grid --size 63 41 --scale 30asec --pol IQUV --no-psf --bitpix -64 -o iquv "$set"
expect_near "$(card iquv-dirty.fits NAXIS1)" 63 0 NAXIS1
expect_near "$(card iquv-dirty.fits NAXIS2)" 41 0 NAXIS2
expect_near "$(card iquv-dirty.fits NAXIS4)" 4 0 NAXIS4
expect_near "$(card iquv-dirty.fits BITPIX)" -64 0 BITPIX
expect_no_file iquv-psf.fits
run idg-grid --scale 30asec --size 64 "$set" -o swapped
expect_file swapped-dirty.fits
# A larger PSF changes nothing else: another grid, so equal to the accuracy, which is 2e-6 RMS and 5e-5 anywhere, of 73 Jy.
run idg-grid $small --psf-size 129 -o wide "$set"
expect_near "$(card wide-psf.fits NAXIS1)" 129 0 NAXIS1
expect_near "$(card wide-psf.fits CRPIX2)" 65 0 CRPIX2
expect_near "$(card wide-dirty.fits NAXIS2)" 64 0 NAXIS2
differences() {
  paste <(pixels "$1" | od -An -v -t f4 --endian=big -w4 -N 16384) <(pixels "$2" | od -An -v -t f4 --endian=big -w4 -N 16384) |
    awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > most) most = d } END { print NR == 4096 ? most + 0 : "short" }'
}
expect_near "$(differences a-dirty.fits wide-dirty.fits)" 0 4e-3 "the largest difference by --psf-size"
expect_near "$(pixels wide-psf.fits | od -An -v -t f4 --endian=big -w4 | awk 'NR == 64 * 129 + 65 { print $1 }')" 1 1e-6 "the wide PSF's peak"
expect_exit 2 idg-grid $small --psf-size 63 -o x "$set"
expect_stderr "idg-grid: error: " --psf-size
run idg-grid $small --shift '1h37m41s 33d10m' --no-psf -o moved "$set"
expect_near "$(card moved-dirty.fits CRVAL2)" 33.1666666667 1e-9 CRVAL2

# Several fields in one pass are what they are by themselves.
run idg-grid $small --shift '1h37m41s 33d10m' --shift '1h37m00s 33d00m' --no-psf -o two "$set"
expect_same_pixels moved-dirty.fits two-f0-dirty.fits
run idg-grid $small --shift '1h37m00s 33d00m' --no-psf -o second "$set"
# Equal but for the plan (w differs) and the weights' frame: within the accuracy of 2e-6 RMS, of 73 Jy.
expect_near "$(differences second-dirty.fits two-f1-dirty.fits)" 0 2e-2 "the largest difference of a second field"

# Baselines that the pixels are too large for are counted, whatever the weights and however quiet; those that
# --maxuv-l leaves out are not missed.
run idg-grid -q --size 64 --scale 30asec --no-psf -o coarse "$set"
expect_stderr "idg-grid: warning: " "448 of 928 visibilities" "are left out" "--scale 9.31asec or less"
run idg-grid -q --size 64 --scale 30asec --maxuv-l 3437 --column DATA --no-psf -o short "$set"
[ ! -s "$(stderr_file)" ] || fail "a warning of what --maxuv-l leaves out"

# Ranges take two numbers, and what follows is an input.
run idg-grid $small --no-psf --interval 0 1 --channel-range 0 1 "$set" -o ranges
expect_file ranges-dirty.fits

# A set with CORRECTED_DATA is told of when nobody chose, and only then.
run idg-grid --size 64 --scale 30asec --psf-only -o unchosen "$set"
expect_stderr "idg-grid: warning: " "column DATA is imaged" "CORRECTED_DATA" "weighting: uniform, rank filter 3"
run idg-grid --size 64 --scale 30asec --psf-only --column DATA -o chosen "$set"
[[ $(<"$(stderr_file)") != *CORRECTED_DATA* ]] || fail "a message about a column that was chosen"

# Times are those of the data's beginning, middle and end, and go on into what clean makes of the images.
printf 'Format = Name, Type, Ra, Dec, I\na, POINT, 00:00:00, -26.42.00, 10\n' >sky.txt
run simulate -q --array mwa-32t --sky sky.txt --channels 2 --start 2024-01-01T12:00:00 --duration 8s --integration 2s -o times.ms
run idg-grid -q --size 64 --scale 12amin -o times times.ms
run clean -q --niter 3 --beam-size 30amin -o times times
for product in dirty psf model residual image; do
  head -c 28800 times-$product.fits | fold -w 80 >cards.txt
  for card in "DATE-OBS= '2024-01-01T12:00:00.000'" "DATE-BEG= '2024-01-01T12:00:00.000'" \
    "DATE-AVG= '2024-01-01T12:00:04.000'" "DATE-END= '2024-01-01T12:00:08.000'" "OBSERVER= 'apsyn" "TELESCOP= 'MWA" "XPOSURE = *8\\.\\?0* " "OBSGEO-X= *-25594"; do
    grep -aq -- "^$card" cards.txt || fail "no $card in times-$product.fits: $(grep -a "^${card%%=*}" cards.txt)"
  done
done

# What WSClean calls otherwise is answered with what to write; fields have names, too.
for words in '--weight briggs' '--weight briggs 0'; do
  expect_exit 2 idg-grid $small $words --no-psf -o habits "$set"
  expect_stderr "the robustness is missing: write it as one word, --weight briggs:0"
done
expect_exit 2 idg-grid $small --weight robust:0.5 --no-psf -o habits "$set"
expect_stderr "write --weight briggs:0.5"
expect_exit 2 idg-grid -size 64 -scale 30asec -o habits "$set"
expect_stderr "idg-grid: error: -size: a long option has two hyphens: --size"
for words in '-name habits --output' '-data-column A --column' '-j 4 --threads'; do
  expect_exit 2 idg-grid $small ${words% *} "$set"
  expect_stderr "idg-grid: error: ${words%% *}: WSClean's name for what is ${words##* } here"
done
expect_exit 2 clean -threshold 5mJy $small -o habits "$set"
expect_stderr "clean: error: -threshold: a long option has two hyphens: --threshold"
run idg-grid $small --no-psf --field 0 --weight briggs:0.5 -o by-number "$set"
expect_stderr "weighting: briggs, robustness 0.5"
run idg-grid $small --no-psf --field BEAM_0 --weight briggs:0.5 -o by-name "$set"
expect_same_pixels by-number-dirty.fits by-name-dirty.fits
expect_exit 2 idg-grid $small --no-psf --field 3C147 -o habits "$set"
expect_stderr "no field is called '3C147': give a number or one of BEAM_0"
expect_no_file habits-dirty.fits

# Channel groups, and the plan alone.
run idg-grid $small --channels-out 2 --no-psf -o band "$set"
expect_file band-0000-dirty.fits band-0001-dirty.fits band-MFS-dirty.fits
# Weights of the whole band make the sum of the parts the image of the whole.
run idg-grid $small --channels-out 2 --mf-weighting --no-psf -o joint "$set"
expect_near "$(differences a-dirty.fits joint-MFS-dirty.fits)" 0 4e-3 "the largest difference by --mf-weighting"
run idg-grid $small --dry-run "$set"
expect_stdout "subgrid" "layers" "memory"
run idg-grid $small --psf-only --dry-run "$set"
expect_stdout "subgrid" "layers" "memory"

# Two sets of different frequency, of which only the second reaches 120 wavelengths: the other is left out.
sky() { printf 'Format = Name, Type, Ra, Dec, I\na, POINT, 02:20:00, -26.00.00, 10\n'; }
sky >sky.txt
make() { run simulate --array mwa-32t --sky sky.txt --phase-centre '02h20m00s -26d42m00s' --integration 1s "$@"; }
make --freq 75MHz -o low.ms
make --freq 170MHz -o high.ms
tiny="--size 64 --scale 10amin --weight natural --channels-out 2"
run idg-grid $tiny -o both low.ms high.ms
expect_file both-0000-dirty.fits both-0001-psf.fits both-MFS-dirty.fits
run idg-grid $tiny --minuv-l 120 -o partly low.ms high.ms
expect_stderr "channel group 0" "left out"
expect_file partly-0001-dirty.fits partly-MFS-psf.fits
expect_no_file partly-0000-dirty.fits partly-0000-psf.fits
# So is one that is flagged altogether.
cp -r low.ms flagged.ms
run flag -q flagged.ms --quack 1h
run idg-grid $tiny -o seen flagged.ms high.ms
expect_stderr "channel group 0" "left out"
expect_file seen-0001-dirty.fits seen-MFS-psf.fits
expect_no_file seen-0000-dirty.fits seen-0000-psf.fits
expect_same_pixels seen-0001-dirty.fits both-0001-dirty.fits

# Sky that has nothing in common with the image comes into it with a warning, neighbouring fields without.
run simulate --array mwa-32t --sky sky.txt --phase-centre '03h20m00s -26d42m00s' --integration 1s --freq 75MHz -o far.ms
run idg-grid -q --size 64 --scale 10amin --weight natural --no-psf -o fields low.ms far.ms
expect_stderr "idg-grid: warning: far.ms: field 0 (" "is 13.3928 deg from low.ms: field 0 (" "data of 2 fields" "--field"
run idg-grid -q --size 128 --scale 10amin --weight natural --no-psf -o wide-fields low.ms far.ms
[ ! -s "$(stderr_file)" ] || fail "a warning of fields that the image holds"

# Voltages through pipes: a stream on standard input is the same as one in a file.
run simulate --array mwa-32t --sky sky.txt --duration 20ms -o v.dada
run correlate --integration 10ms -o v.vis v.dada
run idg-grid --size 64 --scale 10amin -o file v.vis
correlate -q --integration 10ms -o - v.dada 2>/dev/null | idg-grid -q --size 64 --scale 10amin -o pipe - || fail "the pipe"
expect_same_pixels file-dirty.fits pipe-dirty.fits
expect_same_pixels file-psf.fits pipe-psf.fits
head -c 30000 v.vis >cut.vis
expect_exit 3 idg-grid --size 64 --scale 10amin -o x cut.vis

# What is wrong is told, and nothing is written.
expect_exit 2 idg-grid --scale 30asec -o x "$set"
expect_stderr "--size"
expect_exit 2 idg-grid --size 64 -o x "$set"
expect_stderr "--scale"
expect_exit 2 idg-grid $small "$set"
expect_stderr "-o NAME"
expect_exit 2 idg-grid --size 64 --scale 30 -o x "$set"
expect_stderr "unit"
expect_exit 2 idg-grid $small -o - "$set"
expect_exit 2 idg-grid $small -o x --weight nature "$set"
expect_exit 2 idg-grid $small -o x --weight briggs:x "$set"
expect_exit 2 idg-grid $small -o x --subgrid 31 "$set"
expect_exit 2 idg-grid --device cpu $small -o x --grid-memory hybrid "$set"
expect_stderr "--grid-memory hybrid: the layers are in the host's memory" "--device cuda"
expect_exit 2 idg-grid $small -o x --grid-memory disk "$set"
expect_exit 2 idg-grid $small -o x --oversubscribe "$set"
expect_exit 2 idg-grid $small -o x --oversubscribe --grid-memory hybrid "$set"
expect_stderr "--grid-memory unified"
expect_exit 2 idg-grid $small -o x --subgrid 16 --kernel-padding 16 "$set"
expect_exit 2 idg-grid $small -o x --accuracy 1e-30 "$set"
expect_exit 2 idg-grid $small -o x --pol RR "$set"
expect_stderr "XX"
expect_exit 2 idg-grid $small -o x --psf-only --no-psf "$set"
expect_exit 2 idg-grid $small -o x --max-memory 1MB "$set"
expect_stderr "--max-memory"
# The program itself is part of it.
expect_exit 2 idg-grid $small -o x --max-memory 43MB "$set"
expect_stderr "this image needs at least"
run idg-grid -v --threads 2 $small -o little --max-memory 80MB "$set"
expect_peak 80
# Before any of it is taken, the grid of weights first of all.
expect_exit 2 bash -c "ulimit -v 2000000; exec idg-grid --size 60000 --scale 1asec -o x --max-memory 1GB '$set'"
expect_stderr "this image needs more than"
expect_exit 2 idg-grid --size 400000 --scale 1asec --dry-run "$set"
expect_stderr "this image needs more than 4.4 TB"
expect_exit 2 idg-grid $small -o x --channels-out 1000 "$set"
expect_exit 1 idg-grid $small -o x missing.ms
expect_stderr "missing.ms"
expect_exit 2 idg-grid $small -o a "$set"
expect_stderr "a-dirty.fits" "--overwrite"
run idg-grid $small --overwrite -o a "$set"
expect_exit 1 idg-grid $small -o no/such/folder/x "$set"
expect_exit 3 idg-grid --size 64 --scale 30asec --column NOTHERE -o x "$set"
expect_stderr "NOTHERE"
expect_exit 1 idg-grid $small --maxuv-l 1 --minuv-l 0.9 -o x "$set"
expect_stderr "no usable data"
mkdir empty.ms
expect_exit "1|3" idg-grid $small -o x empty.ms
head -c 5000 /dev/urandom >noise.vis
expect_exit 3 idg-grid $small -o x noise.vis
expect_no_file x-dirty.fits x-psf.fits

# A-terms: an ionosphere takes a sixth off a source far from the middle, and the correction brings it back
# (measured: 8.27 and 9.96 of 10 Jy; the rest is structure finer than a subgrid's pixels, which a warning tells).
printf 'Format = Name, Type, Ra, Dec, I\na, POINT, 02:41:31.578, -23.57.48.737, 10\n' >far.txt
far() { pixels "$1" | od -An -v -t f4 --endian=big -w4 | awk -v n=$((168 * 256 + 69)) 'NR == n { print $1 }'; }
run simulate --tec-rms 100mTECU --duration 4s --screen-interval 2s -o screens.fits
run simulate --array mwa-128t --sky far.txt --freq 150MHz --channels 2 --duration 4s --integration 2s \
  --phase-centre '02h24m00s -26d42m00s' --ionosphere screens.fits -o seen.ms
printf 'aterms = [ screen ]\nscreen.images = [ screens.fits ]\n' >aterms.conf
wide="--size 256 --scale 4amin --weight natural --no-psf"
run idg-grid $wide -o uncorrected seen.ms
expect_near "$(far uncorrected-dirty.fits)" 8.27 0.05 "a source behind an ionosphere"
expect_no_file uncorrected-beam.fits
for mode in normalised adjoint; do
  run idg-grid $wide --aterms aterms.conf --aterm-mode $mode --subgrid 64 -o $mode seen.ms
  expect_stderr "too fast for the subgrid's pixels"
  expect_near "$(far $mode-dirty.fits)" 10 0.06 "the source corrected ($mode)"
  expect_near "$(far $mode-beam.fits)" 1 1e-3 "the average beam of an ionosphere"
done
expect_exit 3 idg-grid $wide --aterms far.txt -o x seen.ms
expect_stderr "idg-grid: error: far.txt"
expect_exit 2 idg-grid $wide --aterm-mode adjoint -o x seen.ms
