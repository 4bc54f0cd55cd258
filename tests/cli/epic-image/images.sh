# SPDX-License-Identifier: GPL-3.0-or-later
# epic-image as a user runs it: exact values, forms of output, errors and exit statuses, pipes, reproducibility.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

# header FILE_SIZE [KEY VALUE]...: a stream of three antennas, 8 bits, on standard output; VALUE - leaves the key out.
header() {
  local size=$1 key
  shift
  {
    printf 'HDR_VERSION 1.0\nHDR_SIZE 4096\nUTC_START 2024-01-01-12:00:00\nTELESCOPE test\nINSTRUMENT apsyn\nSOURCE none\n'
    printf 'NDIM 2\nNANT 3\nORDER TFAP\nSITE_LAT -26.7\nSITE_LON 116.67\nSITE_ALT 377\nANT_FRAME ENU\n'
    local -A keys=([FREQ]=100 [BW]=0.1 [TSAMP]=10 [NBIT]=8 [NPOL]=2 [NCHAN]=2 [ENCODING]=TWOSCOMPLEMENT [ANT_000]=a,0,0,0,0,0 [ANT_001]=b,2,1,0,0,0 [ANT_002]=c,-3,4,0,0,0 [FILE_SIZE]=$size)
    while [ $# -gt 0 ]; do keys[$1]=$2 && shift 2; done
    for key in "${!keys[@]}"; do [ "${keys[$key]}" = - ] || echo "$key ${keys[$key]}"; done
  } >header.txt
  cat header.txt
  head -c $((4096 - $(stat -c %s header.txt))) /dev/zero
}
# 1024 samples of 2 channels, 3 antennas, 2 polarisations: X = 3 + 4i everywhere, Y = i X: a source at the zenith.
for ((i = 0; i < 1024 * 6; ++i)); do printf '\x03\x04\xfc\x03'; done >samples.bin
{ header 24576 && cat samples.bin; } >tiny.dada

# floats FILE OFFSET N: big-endian, as in FITS.
floats() { od -A n -v -t f4 --endian="${4:-big}" -j "$2" -N $((4 * $3)) -w4 "$1" | tr -d ' '; }
# card FILE KEYWORD: its value.
card() { head -c 20000 "$1" | fold -w 80 | grep -a "^$(printf '%-8s' "$2")=" | head -1 | cut -c 11-30 | tr -d " '"; }
data_at() { echo $((($(head -c 40000 "$1" | fold -w 80 | grep -an '^END  ' | head -1 | cut -d: -f1) * 80 + 2879) / 2880 * 2880)); }
# pixel FILE PLANE X Y: of 16 x 16.
pixel() { floats "$1" $(($(data_at "$1") + 4 * (($2 * 16 + $4) * 16 + $3))) 1; }

# The source has the power 25 in X and in Y, XY = -25i, with autocorrelations and without, by every method.
for method in fft dft corr auto; do
  for autos in '' --no-autos; do
    run epic-image tiny.dada --size 16 --accumulate 10.24ms --pol XX,YY,XY,YX --method $method $autos -o 'a%02d.fits' --overwrite
    expect_file a00.fits
    expect_no_file a01.fits
    wanted=(25 25 25 25 0 0 0 0 0 0 0 0 -25 -25 25 25) # [re, im][XX, YY, XY, YX][channel]
    for plane in "${!wanted[@]}"; do
      expect_near "$(pixel a00.fits "$plane" 8 8)" "${wanted[$plane]}" 0.03 "$method $autos plane $plane"
    done
    [ "$(pixel a00.fits 0 0 0)" = nan ] || fail "a corner below the horizon is $(pixel a00.fits 0 0 0)"
  done
done
for pair in "NAXIS 5" "NAXIS1 16" "NAXIS3 2" "NAXIS4 4" "NAXIS5 2" "CTYPE1 RA---SIN" "CTYPE2 DEC--SIN" "CTYPE3 FREQ" \
  "CTYPE4 STOKES" "CRVAL4 -5.0" "CDELT4 -1.0" "CTYPE5 COMPLEX" "CRPIX1 9.0" "BUNIT adu/beam" "DATE-OBS 2024-01-01T12:00:00"; do
  got=$(card a00.fits "${pair% *}")
  [[ $got == "${pair#* }"* ]] || fail "${pair% *} is $got, not ${pair#* }"
done
run epic-image tiny.dada --size 16 --accumulate 10.24ms --precision double -o double.fits
expect_stderr "dft: direct sums of antennas to pixels in float64"
expect_near "$(pixel double.fits 0 8 8)" 25 0.000002 "double precision"
run epic-image tiny.dada --size 16 --accumulate 10.24ms --precision half --device cpu -o half.fits
expect_stderr "single precision"
head -c 16000 a00.fits | fold -w 80 | grep -a '^HISTORY epic-image --method auto' >/dev/null || fail "no command line in HISTORY"
run epic-image tiny.dada --size 16 --accumulate 1s --pol IQUV --average-channels 2 -o 'a%02d.fits' --overwrite
wanted=(25 0 0 -25)
for plane in "${!wanted[@]}"; do expect_near "$(pixel a00.fits "$plane" 8 8)" "${wanted[$plane]}" 0.03 "Stokes plane $plane"; done
[ "$(card a00.fits NAXIS3)" = 1 ] && [ "$(card a00.fits NAXIS4)" = 4 ] || fail "not one channel and four Stokes parameters"

# A cube, and the stream of the same numbers; the last image is of a quarter.
run epic-image tiny.dada --size 16 --accumulate 3.2ms --method dft -o cube.fits
[ "$(card cube.fits NAXIS5)" = 4 ] && [ "$(card cube.fits CTYPE5)" = TIME ] || fail "no four times in the cube"
expect_near "$(card cube.fits CDELT5)" 0.0032 1e-12 "step of the cube"
expect_near "$(card cube.fits CRVAL5)" 0.0016 1e-12 "first time of the cube"
run epic-image tiny.dada --size 16 --accumulate 3.2ms --method dft
cp "$(stdout_file)" stream
for line in 'INSTRUMENT +apsyn-image' 'NX +16' 'NY +16' 'NCHAN +2' 'PRODUCTS +I' 'TSAMP +3200.*' 'TRAILER +1' 'NDIM +1'; do
  head -c 4096 stream | grep -aqE "^$line\$" || fail "no line $line in the stream"
done
size=$(head -c 4096 stream | grep -a '^HDR_SIZE' | tr -dc 0-9)
expect_same <(floats stream "$size" 2048 little) <(floats cube.fits "$(data_at cube.fits)" 2048) "stream and cube differ"

# From a pipe, with other numbers of threads and blocks of memory, the bytes are the same.
epic-image --size 16 --accumulate 3.2ms --method dft -q <tiny.dada >piped 2>piped.err || fail "no image from a pipe"
expect_same <(tail -c +$((size + 1)) stream | head -c 8192) <(tail -c +$((size + 1)) piped | head -c 8192) "a pipe gives other bytes"
for method in fft dft corr; do
  for threads in 1 2 5; do
    run epic-image tiny.dada --size 16 --accumulate 3.2ms --method $method --threads $threads -o "t$threads-%d.fits" --overwrite
    expect_same <(tail -c 4096 t1-0.fits) <(tail -c 4096 t$threads-0.fits) "$method: $threads threads give other bytes"
  done
done

# What the image cannot show is told: pixels coarser than fringes, and channels too wide for the delays.
simulate --array mwa-32t --noise 1Jy --duration 1ms -o wide.dada 2>/dev/null || fail "no voltages"
epic-image wide.dada --size 32 --accumulate 1ms -o coarse.fits 2>told.err || fail "no image"
grep -q 'warning: pixels of 3.58 deg are coarser' told.err || fail "no warning of coarse pixels: $(cat told.err)"
grep -q 'warning: over channels of 1.28 MHz baselines of 343 m lose 100 %' told.err || fail "no warning of delays: $(cat told.err)"
epic-image wide.dada --size 32 --field 8deg --channels 16 --accumulate 1ms -o fine.fits 2>told.err || fail "no image"
! grep -q 'coarser\|lose' told.err || fail "a warning of an image that is right: $(cat told.err)"

# Slow samples, 10 s each: the last image of a file is that of its samples alone, and so is one fixed to the ground
# from a pipe that does not say how long it is; what follows the sky there is aimed at what was planned, with a warning.
slow=(TSAMP 1e7 BW 2e-7)
{ header 24576 "${slow[@]}" && cat samples.bin; } >slow.dada
{ header - "${slow[@]}" FILE_SIZE - && cat samples.bin; } >endless.dada
run epic-image slow.dada --size 16 --method dft --samples 800: --accumulate 8000s -o 'alone%d.fits'
run epic-image slow.dada --size 16 --method dft --accumulate 8000s -o 'known%d.fits'
cat endless.dada | epic-image - --size 16 --method dft --accumulate 8000s -o 'piped%d.fits' 2>pipe.err || fail "no series from a pipe"
for name in known piped; do
  for key in CRVAL1 CRVAL2; do expect_near "$(card ${name}1.fits $key)" "$(card alone0.fits $key)" 1e-9 "$name: $key"; done
  for key in DATE-OBS DATE-AVG XPOSURE; do
    [ "$(card ${name}1.fits $key)" = "$(card alone0.fits $key)" ] || fail "$name: $key is $(card ${name}1.fits $key), not $(card alone0.fits $key)"
  done
  # 1.7e-3: J2000 north at the zenith turns by 0.03 deg in 48 minutes
  expect_near "$(pixel ${name}1.fits 0 5 9)" "$(pixel alone0.fits 0 5 9)" 3e-3 "$name: a pixel aside"
done
! grep -q 'aimed at' pipe.err || fail "a warning about an image that is right"
cat endless.dada | epic-image - --size 16 --method dft --accumulate 8000s -o late.fits 2>pipe.err || fail "no cube from a pipe"
grep -q 'aimed at the sky of 2024-01-01T15:20:00.000' pipe.err || fail "no warning of another sky: $(cat pipe.err)"
expect_near "$(card late.fits CRVAL5)" 4000 1e-9 "first time of two images"
expect_near "$(card late.fits XPOSLAST)" 2240 1e-9 "length of the last image"
expect_near "$(card late.fits XPOSURE)" 10240 1e-9 "length of all images"
cat endless.dada | epic-image - --size 16 --method dft --accumulate 80000s -o short.fits 2>pipe.err || fail "no short cube"
expect_near "$(card short.fits CRVAL5)" 5120 1e-9 "time of a short image"
expect_near "$(card short.fits CDELT5)" 10240 1e-9 "step of a short image"
cat endless.dada | epic-image - --size 16 --method dft --accumulate 80000s -q >short.stream 2>pipe.err || fail "no short stream"
head -c 4096 short.stream | grep -a '^TSAMP' | grep -aq '1024000*\(\.0*\)\?$' || fail "$(head -c 4096 short.stream | grep -a '^TSAMP') in the short stream"

# Missing data: an antenna that is zero counts in no pair; nothing left is an error.
for ((i = 0; i < 2048; ++i)); do printf '\x03\x04\xfc\x03\x03\x04\xfc\x03\0\0\0\0'; done >two.bin
{ header 24576 && cat two.bin; } >two.dada
run epic-image two.dada --size 16 --accumulate 1s --no-autos -o 'two%d.fits'
expect_near "$(pixel two0.fits 0 8 8)" 25 0.03 "two antennas of three"
run epic-image tiny.dada --size 16 --accumulate 1s --no-autos --flag-antennas 2 -o 'two%d.fits' --overwrite
expect_near "$(pixel two0.fits 0 8 8)" 25 0.03 "one antenna flagged"
longest() { epic-image tiny.dada --size 16 --no-autos --dry-run "$@" 2>/dev/null | grep -o 'longest baseline [0-9.]*'; }
used=$(for ant in 0 1 2; do longest --flag-antennas $ant; done | sort -u | wc -l)
[ "$used" -gt 1 ] || fail "the longest baseline is $(longest) whatever antenna is flagged"
expect_exit 1 epic-image tiny.dada --size 16 --no-autos --flag-antennas 1,2 -o none.fits
expect_stderr "no usable data"
expect_no_file none.fits

# Light curves: the source at the zenith, and a direction below the horizon.
printf 'id,az,el\nup,0deg,90deg\nside,30deg,40deg\n' >pixels.csv
for method in dft corr auto; do
  run epic-image tiny.dada --pixels pixels.csv --accumulate 5.12ms --average-channels 2 --pol XX,XY --no-autos --method $method -o curve.csv --overwrite
  [ "$(head -1 curve.csv)" = time_utc,id,freq_hz,XX,XY_re,XY_im ] || fail "a light curve begins with $(head -1 curve.csv)"
  [ "$(wc -l <curve.csv)" -eq 5 ] || fail "$(wc -l <curve.csv) lines in the light curves"
  IFS=, read -r time id _ xx re im < <(sed -n 4p curve.csv)
  [ "$time,$id" = 2024-01-01T12:00:00.007680000,up ] || fail "the second time of the first direction is $time,$id"
  expect_near "$xx" 25 1e-3 "$method XX"
  expect_near "$re" 0 1e-3 "$method Re XY"
  expect_near "$im" -25 1e-3 "$method Im XY"
done
expect_exit 2 epic-image tiny.dada --pixels pixels.csv --method fft -o x.csv
expect_exit 1 epic-image tiny.dada --pixels nothere.csv -o x.csv

# A centre that is followed, in every method: the source at the zenith stands two pixels north of a centre 4 deg south of
# it, in the second image of a cube, too.
zenith=$(epic-image tiny.dada --size 16 --accumulate 10.24ms -o zenith.fits 2>/dev/null && echo "$(card zenith.fits CRVAL1)deg $(card zenith.fits CRVAL2)deg")
away="${zenith% *} $(awk -v z="${zenith#* }" 'BEGIN { print z - 4 }')deg"
for method in fft dft corr; do
  run epic-image tiny.dada --size 16 --scale 2deg --accumulate 10.24ms --method $method --centre "$away" -o 'at%d.fits' --overwrite
  expect_near "$(pixel at0.fits 0 8 10)" 25 0.03 "$method: the zenith, two pixels north of the centre"
  expect_near "$(card at0.fits CRVAL1)" "$(card zenith.fits CRVAL1)" 1e-9 "$method: right ascension of the centre"
  expect_near "$(card at0.fits CRVAL2)" "$(awk -v z="${zenith#* }" 'BEGIN { printf "%.6f", z - 4 }')" 1e-3 "$method: declination of the centre"
  run epic-image tiny.dada --size 16 --scale 2deg --accumulate 10.24ms --method $method --centre zenith -o 'at%d.fits' --overwrite
  expect_near "$(pixel at0.fits 0 8 8)" 25 0.03 "$method: --centre zenith"
done
run epic-image tiny.dada --size 16 --scale 2deg --method dft --accumulate 5.12ms --centre "$away" -o followed.fits
expect_near "$(pixel followed.fits 2 8 10)" 25 0.03 "the zenith in the second image of a cube"
run epic-image tiny.dada --size 16 --accumulate 10.24ms --centre '0h +89deg' --dry-run
expect_stderr "26.0 deg below the horizon when the data begin"
run epic-image tiny.dada --size 16 --accumulate 10.24ms --centre '0h +89deg' -o down.fits
[ "$(pixel down.fits 0 8 8)" = nan ] || fail "the pole below the horizon is $(pixel down.fits 0 8 8)"
for bad in nadir '5h' '5h 91deg' ''; do expect_exit 2 epic-image tiny.dada --size 16 --centre "$bad" -o x.fits; done
expect_exit 2 epic-image tiny.dada --pixels pixels.csv --centre "$away" -o x.csv

# Weights of baselines, of corr only, which auto then takes.
run epic-image tiny.dada --size 16 --scale 2deg --accumulate 10.24ms --no-autos --weight uniform -o 'w%d.fits'
expect_stderr "--method auto: corr"
expect_near "$(pixel w0.fits 0 8 8)" 25 0.01 "a source with uniform weights"
run epic-image tiny.dada --size 16 --scale 2deg --no-autos --weight briggs:0.5 --weight-rank-filter 0 --dry-run
expect_stdout "weighting: briggs, robustness 0.5, of each image's baselines"
for bad in '--weight uniform' '--weight uniform --no-autos --method dft' '--weight uniform --no-autos --method fft' '--weight robust:0 --no-autos' \
  '--weight briggs --no-autos' '--weight uniform --no-autos --pixels pixels.csv' '--weight uniform --no-autos --precision double' '--weight uniform --electric-field'; do
  # shellcheck disable=SC2086
  expect_exit 2 epic-image tiny.dada --size 16 $bad -o x.fits
done
expect_exit 2 epic-image tiny.dada --size 16 --weight briggs:0 -o x.fits
expect_stderr "autocorrelations" "--no-autos"

# An array too wide for a transform is imaged by another method, unless it is asked for.
wide=(ANT_002 c,-30000,4,3000,0,0)
{ header 24576 "${wide[@]}" && cat samples.bin; } >wide.dada
run epic-image wide.dada --size 16 -o wide.fits
expect_file wide.fits
expect_exit 2 epic-image wide.dada --size 16 --method fft -o x.fits
expect_stderr "4096 are the most"

# Images of one spectrum each, and of one pixel: the zenith.
run epic-image tiny.dada --size 16 --method dft --accumulate 10us --samples 0:40 -o each.fits
[ "$(card each.fits NAXIS5)" = 40 ] || fail "$(card each.fits NAXIS5) images of 40 spectra"
expect_near "$(pixel each.fits 79 8 8)" 25 0.03 "the last of 40 images"
run epic-image tiny.dada --size 1 --accumulate 1s -o one.fits
expect_near "$(floats one.fits "$(data_at one.fits)" 1)" 25 0.03 "one pixel"

# Plans, real time, and what goes wrong.
run epic-image tiny.dada --dry-run
expect_stdout "3 antennas" "128 x 128 pixels" "method:" "memory:"
# An antenna that makes the grid of fft large is named.
{ header 24576 ANT_000 a,0,0,0,0,0 ANT_001 b,2,1,0,0,0 ANT_002 c,-300,4,20,0,0 && cat samples.bin; } >far.dada
run epic-image far.dada --method fft --size 16 --dry-run
expect_stdout "method: fft" "grid: " "antenna c stands far out"
run epic-image tiny.dada --method fft --size 16 --dry-run
expect_stdout "grid: "
! grep -q "stands far out" "$STATE/stdout" || fail "an antenna near the others is said to stand far out"
# In a larger array it is left out of the grid, but not of a field's.
run simulate --array lwa-sv --freq 60MHz --bandwidth 25kHz --noise 10Jy --duration 40ms -o lwa-sv.dada
run epic-image lwa-sv.dada --method fft --dry-run
expect_stdout "1 antenna outside the grid is added exactly: Stand256"
! grep -q "stands far out" "$STATE/stdout" || fail "an antenna off the grid is said to stand far out"
run epic-image lwa-sv.dada --method fft --electric-field --samples 0:1 --dry-run
expect_stdout "antenna Stand256 stands far out"
run epic-image lwa-sv.dada --method corr --dry-run
! grep -q "outside the grid" "$STATE/stdout" || fail "corr leaves antennas out of a grid"
# What a run refuses, a plan refuses.
expect_exit 2 epic-image tiny.dada --size 16 --method fft --w exact --dry-run
run epic-image tiny.dada --pixels pixels.csv --dry-run
expect_stdout " directions, "
run epic-image tiny.dada --size 16 --method fft -o r.fits --realtime
expect_stderr "times as fast as recorded"
expect_exit 2 epic-image tiny.dada --pol XX,YY,YX -o x.fits --size 16 --method dft
expect_stderr "equally spaced"
for bad in '--pol RR' '--pol I,I' '--pol ,' '--pol I,,Q' '--accumulate 0s' '--average-channels 3' '--precision double --method corr' '--scale 5' '--kernel 10' '--padding 0.5' \
  '--method fft --w exact' '--field 0deg' '--field 181deg' '--scale 0deg' '--scale -1deg' '--samples 5000:'; do
  # shellcheck disable=SC2086
  expect_exit 2 epic-image tiny.dada $bad -o x.fits
done
expect_exit 4 epic-image tiny.dada --size 16 --device cuda:77 -o x.fits
expect_exit 2 epic-image tiny.dada -o 'x%d-%d.fits'
expect_exit 2 epic-image tiny.dada -o cube.fits
expect_stderr "--overwrite"
expect_no_file x.fits
{ header 24576 ANT_000 - ANT_001 - ANT_002 - && cat samples.bin; } >nowhere.dada
expect_exit 2 epic-image nowhere.dada -o x.fits
expect_stderr "--antennas"
head -c 20000 tiny.dada >short.dada
expect_exit 3 epic-image short.dada -o x.fits
expect_no_file x.fits
