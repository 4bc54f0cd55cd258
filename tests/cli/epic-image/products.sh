# SPDX-License-Identifier: GPL-3.0-or-later
# What epic-image makes beside images of power: fields, light curves of regions, antennas with apertures, large images,
# gulps one by one, and a picture that is always of the newest image.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

# header [TSAMP BW]: three antennas, 8 bits; X = 3 + 4i everywhere, Y = i X: a source at the zenith.
header() {
  {
    printf 'HDR_VERSION 1.0\nHDR_SIZE 4096\nUTC_START 2024-01-01-12:00:00\nTELESCOPE test\nINSTRUMENT apsyn\nSOURCE none\n'
    printf 'FREQ 100\nBW %s\nTSAMP %s\nNBIT 8\nNDIM 2\nNPOL 2\nNCHAN 2\nNANT 3\nORDER TFAP\nENCODING TWOSCOMPLEMENT\n' "${2:-0.1}" "${1:-10}"
    printf 'SITE_LAT -26.7\nSITE_LON 116.67\nSITE_ALT 377\nANT_FRAME ENU\nFILE_SIZE 24576\n'
    printf 'ANT_000 a,0,0,0,0,0\nANT_001 b,2,1,0,0,0\nANT_002 c,-3,4,0,0,0\n'
  } >header.txt
  cat header.txt
  head -c $((4096 - $(stat -c %s header.txt))) /dev/zero
}
{
  header
  for ((i = 0; i < 1024 * 6; ++i)); do printf '\x03\x04\xfc\x03'; done
} >tiny.dada

card() { head -c 20000 "$1" | fold -w 80 | grep -a "^$(printf '%-8s' "$2")=" | head -1 | cut -c 11-30 | tr -d " '"; }
data_at() { echo $((($(head -c 40000 "$1" | fold -w 80 | grep -an '^END  ' | head -1 | cut -d: -f1) * 80 + 2879) / 2880 * 2880)); }
# pixel FILE PLANE X Y: of 16 x 16.
pixel() { od -A n -v -t f4 --endian=big -j $(($(data_at "$1") + 4 * (($2 * 16 + $4) * 16 + $3))) -N 4 "$1" | tr -d ' '; }

# The field of each spectrum: X, Y of two channels, then their imaginary parts.
for method in fft dft auto; do
  run epic-image tiny.dada --electric-field --size 16 --samples 0:3 --method $method -o 'field%d.fits' --overwrite
  expect_file field2.fits
  expect_no_file field3.fits
  wanted=(3 3 -4 -4 4 4 3 3)
  for plane in "${!wanted[@]}"; do
    expect_near "$(pixel field1.fits "$plane" 8 8)" "${wanted[$plane]}" 0.01 "$method: plane $plane of the field"
  done
  [ "$(pixel field1.fits 0 0 0)" = nan ] || fail "a corner below the horizon is $(pixel field1.fits 0 0 0)"
done
for pair in "CTYPE4 FEED" "CRVAL4 1.0" "CDELT4 1.0" "CTYPE5 COMPLEX" "NAXIS5 2" "BUNIT sqrt(adu)"; do
  got=$(card field1.fits "${pair% *}")
  [[ $got == "${pair#* }"* ]] || fail "${pair% *} of a field is $got, not ${pair#* }"
done
run quicklook field1.fits --plane Y --frame 1 --stats
expect_stdout '"stokes": "Y"' '"unit": "sqrt(adu)"'
printf 'id,az,el\nup,0deg,90deg\n' >pixels.csv
run epic-image tiny.dada --electric-field --pixels pixels.csv --samples 0:2 --pol Y -o field.csv
[ "$(sed -n 5p field.csv)" = 2024-01-01T12:00:00.000015000,up,100025000.000,-4,3 ] || fail "the field towards the zenith: $(sed -n 5p field.csv)"
for bad in '--no-autos' '--average-channels 2' '--method corr' '--pol XX' '--accumulate 40ms'; do
  # shellcheck disable=SC2086
  expect_exit 2 epic-image tiny.dada --electric-field $bad -o x.fits
done
expect_stderr "--accumulate" "leave it out"

# Regions of the images: the source, its surroundings without it, and one that is below the horizon.
cat >regions.crtf <<'END'
#CRTFv0
circle[[8pix, 8pix], 0.4pix]
box[[6.5pix, 6.5pix], [9.5pix, 9.5pix]]
-circle[[8pix, 8pix], 0.4pix]
END
run epic-image tiny.dada --size 16 --regions regions.crtf --accumulate 5.12ms --average-channels 2 --pol I,XX --method dft -o curve.csv
[ "$(head -1 curve.csv)" = time_utc,region,freq_hz,pixels,I_mean,I_max,XX_mean,XX_max ] || fail "curves of regions begin with $(head -1 curve.csv)"
[ "$(wc -l <curve.csv)" -eq 5 ] || fail "$(wc -l <curve.csv) lines in the curves of regions"
[ "$(cut -d, -f2,4 curve.csv | tr '\n' ' ')" = 'region,pixels 1,0 2,8 1,0 2,8 ' ] || fail "$(cut -d, -f2,4 curve.csv | tr '\n' ' ')"
sed -i 3,4d regions.crtf
run epic-image tiny.dada --size 16 --regions regions.crtf --accumulate 5.12ms --average-channels 2 --pol I,XY --method dft -o curve.csv --overwrite
IFS=, read -r _ _ _ n mean largest re im < <(sed -n 3p curve.csv)
[ "$n" = 1 ] || fail "$n pixels of the source"
for pair in "$mean 25" "$largest 25" "$re 0" "$im -25"; do expect_near "${pair% *}" "${pair#* }" 1e-3 "curve of a region"; done
# All images have one centre, whatever the table is called: the source, fixed to the ground, leaves its place there.
{ header 1e7 2e-7 && tail -c +4097 tiny.dada; } >slow.dada
for name in 'slow%d' slow; do
  run epic-image slow.dada --size 16 --regions regions.crtf --accumulate 5120s --average-channels 2 --method dft -o "$name.csv"
done
expect_same 'slow%d.csv' slow.csv "a % in its name changes the curve: $(cat 'slow%d.csv')"
printf '#CRTFv0\n-circle[[8pix, 8pix], 2pix]\n' >none.crtf
expect_exit 2 epic-image tiny.dada --size 16 --regions none.crtf -o x.csv
expect_exit 2 epic-image tiny.dada --size 16 --regions regions.crtf --pixels pixels.csv -o x.csv
expect_exit 3 epic-image tiny.dada --size 16 --regions pixels.csv -o x.csv

# aperture NAME WIDTH VALUES: a FITS image of WIDTH samples along east, 0.5 m apart, about its middle.
aperture() {
  local name=$1 width=$2
  shift 2
  {
    for text in 'SIMPLE  =                    T' 'BITPIX  =                  -64' 'NAXIS   =                    2' \
      "NAXIS1  = $(printf %20d "$width")" 'NAXIS2  =                    1' "CTYPE1  = 'EAST    '" "CTYPE2  = 'NORTH   '" \
      "CRPIX1  = $(printf %20.1f "$(awk "BEGIN { print ($width + 1) / 2 }")")" 'CDELT1  =                  0.5' 'CRPIX2  =                  1.0' \
      'CDELT2  =                  0.5' END; do printf '%-80s' "$text"; done | head -c 2880
    printf "%$((2880 - 12 * 80))s" ''
    printf '%b' "$@"
    head -c $((2880 - 8 * width)) /dev/zero
  } >"$name"
}
one='\x3f\xf0\0\0\0\0\0\0'
aperture point.fits 1 $one
aperture wide.fits 3 $one $one $one
# An aperture of one point changes nothing; kinds of antennas leave a source at its flux.
run epic-image tiny.dada --size 16 --method dft -o plain.fits
for method in fft dft corr auto; do
  run epic-image tiny.dada --size 16 --method $method --kernel 9 --apertures point.fits -o point-$method.fits
  expect_near_image plain.fits point-$method.fits 0.03
done
printf 'antenna,file\nb,wide.fits\n*,point.fits\n' >kinds.csv
for method in fft dft corr; do
  run epic-image tiny.dada --size 16 --method $method --kernel 9 --no-autos --apertures kinds.csv -o kinds-$method.fits
  expect_near "$(pixel kinds-$method.fits 0 8 8)" 25 0.03 "$method: a source heard by antennas of two kinds"
done
expect_near_image kinds-dft.fits kinds-corr.fits 1e-4
expect_different kinds-dft.fits plain.fits "kinds of antennas change nothing"
# What options name is an input, and so is what their tables name.
for how in "pixels pixels.csv pixels.csv" "regions regions.crtf regions.crtf" "apertures kinds.csv kinds.csv" "apertures kinds.csv wide.fits"; do
  read -r option file output <<<"$how"
  cp "$output" kept
  expect_exit 2 epic-image tiny.dada --size 16 --"$option" "$file" -o "$output" --overwrite
  expect_stderr "$output: is the input"
  expect_same "$output" kept
done
printf 'antenna,file\nb,wide.fits\n' >some.csv
expect_exit 3 epic-image tiny.dada --size 16 --apertures some.csv -o x.fits
expect_stderr "no file for antenna a"
expect_exit 3 epic-image tiny.dada --size 16 --apertures plain.fits -o x.fits
expect_stderr EAST
aperture zero.fits 1 '\0\0\0\0\0\0\0\0'
expect_exit 3 epic-image tiny.dada --size 16 --apertures zero.fits -o x.fits
expect_exit 1 epic-image tiny.dada --size 16 --apertures nothere.fits -o x.fits

# Large images do not wait for each other; what does not fit is refused before it is begun.
epic-image tiny.dada --size 2100 --samples 0:2 --accumulate 10us --average-channels 2 --method dft --max-memory 700MB -q | wc -c >large.txt
[ $(($(cat large.txt) - 8 * 2100 * 2100)) = 8192 ] || fail "$(cat large.txt) bytes of two large images, header and trailer"
expect_exit 2 epic-image tiny.dada --size 65535 --max-memory 4GB -o x.fits
expect_stderr "these images need at least"
expect_exit 2 epic-image tiny.dada --size 4200 --method fft -o x.fits
expect_stderr "4096 are the most"
expect_no_file x.fits x.csv

# Gulps, one by one.
run epic-image tiny.dada --size 16 --realtime -v -o gulps.fits
expect_stderr "gulp 1: " "times as fast as recorded"

# A live picture: the last image is what is left, its figures are those of the last frame of a cube.
run epic-image tiny.dada --size 16 --method dft --accumulate 1ms --average-channels 2 -o cube.fits
epic-image tiny.dada --size 16 --method dft --accumulate 1ms --average-channels 2 -q | quicklook - --size 200 --stats -o live.png >live.json 2>live.err || fail "no live picture: $(cat live.err)"
expect_file live.png
run quicklook cube.fits --frame 10 --stats
for key in maximum mean rms blank_pixels; do
  wanted=$(grep "\"$key\"" "$(stdout_file)") || fail "no $key of a frame"
  [ "$(grep "\"$key\"" live.json)" = "$wanted" ] || fail "$key: $(grep "\"$key\"" live.json) in the stream"
done
# Of complex images the amplitudes: |-25i|, |3 + 4i|; V is real, and keeps its sign.
epic-image tiny.dada --size 16 --method dft --pol XY,V -q >complex.dada
epic-image tiny.dada --size 16 --method dft --samples 0:3 --electric-field -q >field.dada
for pair in 'complex.dada XY maximum 25' 'complex.dada V minimum -25' 'field.dada X maximum 5' 'field.dada Y maximum 5'; do
  read -r name plane key wanted <<<"$pair"
  run quicklook "$name" --plane "$plane" --stats
  expect_near "$(sed -n "s/.*\"$key\": \([-0-9.e+]*\).*/\1/p" "$(stdout_file)")" "$wanted" 0.01 "$pair"
done
epic-image tiny.dada --size 16 -q >images.dada
run quicklook images.dada -o images.png
head -c 5000 images.dada >cut.dada
expect_exit 3 quicklook cut.dada -o cut.png
expect_no_file cut.png

# What goes wrong in drawing ends quicklook, though the sender is silent; options and memory are checked before.
# Nobody waits for what the sender holds but quicklook's standard input.
slowly() { cat images.dada && exec sleep 20 2>/dev/null; }
start=$SECONDS
expect_exit 2 quicklook - --plane 99 -o cut.png < <(slowly)
expect_exit 2 quicklook - --range 5:1 -o cut.png < <(slowly)
[ $((SECONDS - start)) -lt 15 ] || fail "an error in drawing waits for the sender"
expect_exit 2 quicklook images.dada --plane all -o cut.png
expect_exit 2 quicklook images.dada --frame 1 -o cut.png
perl -e 'read(STDIN, my $header, 4090); $header =~ s/\n(N[XY] +)16\b/\n${1}20000/g; print $header' <images.dada >large.dada
expect_exit 1 quicklook --max-memory 1GB - -o cut.png < <(cat large.dada)
expect_stderr --max-memory
perl -0777 -pi -e 's/\n(TSAMP +\S+)/"\n" . sprintf("%-*s", length $1, "TSAMP 1e290")/e' images.dada
expect_exit 3 quicklook - -o cut.png <images.dada
expect_stderr TSAMP
expect_no_file cut.png

# The last image has what is left: it is kept from a tenth of the time on, and left out on request.
run simulate -q --array mwa-32t --noise 100Jy --duration 100ms -o sliver.dada
axis() { head -c 5760 "$1" | fold -w 80 | awk '/^NAXIS5/ { print $3 }'; }
run epic-image -q --channels 4 --size 16 --accumulate 40ms sliver.dada -o half.fits
run epic-image --channels 4 --size 16 --accumulate 40ms --drop-incomplete sliver.dada -o whole.fits
expect_stderr "is left out (--drop-incomplete)"
run epic-image --channels 4 --size 16 --accumulate 33ms sliver.dada -o most.fits
expect_stderr "the last image has 1 ms of 33 ms and is left out"
! grep -q drop-incomplete "$(stderr_file)" || fail "an image is left out by an option that was not given"
run epic-image -q --channels 4 --size 16 --accumulate 40ms --samples 0:1000 sliver.dada -o only.fits
[ "$(axis half.fits) $(axis whole.fits) $(axis most.fits)" = "3 2 3" ] ||
  fail "frames: $(axis half.fits), $(axis whole.fits), $(axis most.fits) instead of 3, 2, 3"
expect_file only.fits
