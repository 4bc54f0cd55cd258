# SPDX-License-Identifier: GPL-3.0-or-later
# quicklook on small FITS files written here: kinds of input and output, options, hostile files.
source "$APSYN_SOURCE/tests/cli/lib.sh"

# cards TEXT...: 80-column header cards, padded to a FITS block of 2880 bytes.
cards() { { printf '%-80s' "$@" && printf '%2880s' ''; } | head -c 2880; }

# fits NAME NX NY [CARD...]: an 8-bit image whose pixels are the number of their column, modulo 200.
fits() {
  local name=$1 nx=$2 ny=$3
  shift 3
  {
    cards 'SIMPLE  =                    T' 'BITPIX  =                    8' 'NAXIS   =                    2' \
      "NAXIS1  = $(printf %20d "$nx")" "NAXIS2  = $(printf %20d "$ny")" "CTYPE1  = 'RA---SIN'" "CTYPE2  = 'DEC--SIN'" \
      "CRPIX1  = $(printf %20d $((nx / 2 + 1)))" "CRPIX2  = $(printf %20d $((ny / 2 + 1)))" \
      'CRVAL1  =                187.5' 'CRVAL2  =                -30.0' 'CDELT1  =                 -0.1' \
      'CDELT2  =                  0.1' "CUNIT1  = 'deg     '" "CUNIT2  = 'deg     '" "BUNIT   = 'JY/BEAM '" "$@" 'END'
    awk -v nx="$nx" -v ny="$ny" 'BEGIN {
      for (y = 0; y < ny; ++y) for (x = 0; x < nx; ++x) printf "%c", x % 200 + 33
      for (i = nx * ny; i % 2880; ++i) printf "%c", 32
    }' | head -c $(((nx * ny + 2879) / 2880 * 2880))
  } >"$name"
}

# is_png FILE WIDTH HEIGHT: signature, size in the header, and the closing chunk.
is_png() {
  expect_file "$1"
  [ "$(head -c 8 "$1" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] || fail "$1 is no PNG"
  [ "$(tail -c 8 "$1" | head -c 4)" = IEND ] || fail "$1 does not end as a PNG"
  [ -z "${2:-}" ] || [ "$(od -An -tx1 -j16 -N8 "$1" | tr -d ' \n')" = "$(printf %08x%08x "$2" "$3")" ] ||
    fail "$1 has not $2 x $3 pixels"
}

fits sky.fits 64 48 "OBJECT  = 'Test field'"

# Output: beside the input by default, or named, or a pipe; the same bytes each time.
run quicklook sky.fits
is_png sky.png
expect_stderr "quicklook: info: wrote sky.png"
expect_no_stdout
run quicklook sky.fits -o named.png
run bash -c 'set -o pipefail; cat sky.fits | quicklook >piped.png'
is_png piped.png
run bash -c 'set -o pipefail; (head -c 3 sky.fits; sleep 0.1; tail -c +4 sky.fits) | quicklook - --threads 1 -o slow.png'
run bash -c 'quicklook - <sky.fits >redirected.png'
expect_same sky.png named.png
cmp -s sky.png redirected.png && fail "the provenance of a file and of a pipe cannot be the same"
expect_same piped.png slow.png
expect_same piped.png redirected.png
grep -aq "quicklook sky.fits" sky.png || fail "sky.png does not tell the command that made it"
expect_exit 2 quicklook sky.fits
expect_stderr sky.png --overwrite
run quicklook sky.fits --overwrite -q
[ -s "$(stderr_file)" ] && fail "quicklook -q writes on stderr"
expect_exit 141 bash -c 'set -o pipefail; quicklook sky.fits --size 4000 -o - | head -c 10 >/dev/null'
expect_exit 1 bash -c 'quicklook sky.fits -o - >/dev/full'
expect_exit 1 quicklook sky.fits -o no/such/folder/x.png
run quicklook --dry-run sky.fits -o dry.png
expect_stdout sky.fits image dry.png
expect_no_file dry.png

# Every option draws something; pictures that should differ do.
cat >sky.txt <<'SKY'
Format = Name, Type, Ra, Dec, I
alpha, POINT, 12:30:00, -30.00.00, 10
elsewhere, POINT, 02:30:00, 30.00.00, 1
SKY
n=0
for options in '--title Heading' '--size 500' '--colour-map grey' '--range 50:60' '--percentile 90' '--stretch log' \
  '--stretch sqrt' '--stretch asinh' '--contours 40,60' '--contours=-1s,1s' '--mark sky.txt' '--crop 3,4,20,10' '--zoom 2' '--grid on' '--kind image'; do
  n=$((n + 1))
  # shellcheck disable=SC2086
  run quicklook sky.fits $options -o option$n.png
  is_png option$n.png
done
run quicklook sky.fits --range -10:60.5 -o negative.png
run quicklook sky.fits --plane 0 -o plane.png
run quicklook sky.fits --plane I -o stokes.png
fits large.fits 1500 20
run quicklook large.fits --size 300 -o mean.png
run quicklook large.fits --size 300 --reduce max -o max.png
# pixels apart, the text chunks differ anyway: look at the compressed pixels
pixels() { tail -c +400 "$1" | cksum; }
[ "$(ls option*.png mean.png max.png | while read -r name; do pixels "$name"; done | sort -u | wc -l)" -eq $((n + 2)) ] ||
  fail "two options draw the same picture"

# Wrong options: status 2, the option in the message, no file.
for options in '--range 5' '--range 5:1' '--range a:b' '--percentile 20' '--percentile 101' '--stretch cubic' '--crop 1,2,3' \
  '--crop 0,0,0,1' '--crop 60,0,10,1' '--crop 1.5,0,2,2' '--zoom 0.1' '--plane 1' '--plane V' '--plane I,9' '--size 1' \
  '--size 1000000' '--colour-map rainbow' '--kind movie' '--grid maybe' '--reduce sum' '--range 1:2 --percentile 90' '--contours 3x' '--contours 1,,2'; do
  # shellcheck disable=SC2086
  expect_exit 2 quicklook sky.fits $options -o wrong.png
  expect_stderr 'quicklook: error: ' "${options%% *}"
  expect_no_file wrong.png
done
expect_exit 1 quicklook sky.fits --mark absent.txt -o wrong.png
expect_stderr absent.txt
echo 'nonsense' >bad.txt
expect_exit 3 quicklook sky.fits --mark bad.txt -o wrong.png
expect_stderr bad.txt

# Malformed images.
head -c 4000 sky.fits >cut.fits
expect_exit 3 quicklook cut.fits
expect_stderr cut.fits
head -c 1000 sky.fits >short.fits
expect_exit 3 quicklook short.fits
fits blank.fits 4 1 'BLANK   =                   33' 'BSCALE  =                  1.0'
printf '\x21\x21\x21\x21' | dd of=blank.fits bs=1 seek=2880 conv=notrunc status=none
expect_exit 1 quicklook blank.fits
expect_stderr "no usable data"
printf 'SIMPLE  ' >tiny.fits
expect_exit 3 quicklook tiny.fits
: >empty
expect_exit 3 quicklook empty
head -c 100000 /dev/urandom >garbage
expect_exit 3 quicklook garbage
expect_stderr garbage
mkdir folder
expect_exit 3 quicklook folder
expect_exit 3 bash -c 'head -c 1000 sky.fits | quicklook -o pipe.png'
expect_exit 3 bash -c 'true | quicklook -o pipe.png'
expect_exit 1 quicklook absent.fits
expect_no_file wrong.png cut.png short.png blank.png tiny.png empty.png garbage.png folder.png pipe.png absent.png
for name in 'a(b).fits' 'x[1].fits' 'obs+1.fits'; do
  cp sky.fits "$name"
  run quicklook "$name"
  is_png "${name%.fits}.png"
done
# a huge image is refused instead of eating the memory
expect_exit 1 quicklook sky.fits --max-memory 10kB -o wrong.png
expect_stderr max-memory
expect_no_file wrong.png

# Visibilities and voltages, from files and pipes.
simulate --array mwa-32t --sky sky.txt --freq 150MHz --bandwidth 1.28MHz --channels 4 --duration 3s -q -o obs.ms ||
  fail "no Measurement Set to look at"
run quicklook obs.ms
is_png obs.png 2180 1160
run quicklook obs.ms/ -o slash.png
for plot in uv amplitude spectrum waterfall; do
  run quicklook obs.ms --plot $plot --size 300 -o $plot.png
  is_png $plot.png
done
run quicklook obs.ms --plot fringes --size 300 -o fringes.png
is_png fringes.png
run quicklook obs.ms --plot waterfall --baselines 0:1 --size 300 -o waterfall1.png
cmp -s waterfall.png waterfall1.png && fail "--baselines changes no waterfall"
run quicklook obs.ms --plot fringes --baselines 0:1,5:3 --channel 3 --size 300 -o two.png
for wrong in "--baselines 0" "--baselines 0:0" "--baselines 0:99" "--baselines 0:nobody" "--channel 4"; do
  expect_exit 2 quicklook obs.ms --plot fringes $wrong -o wrong.png
  expect_stderr "${wrong% *}"
done
expect_exit 2 quicklook obs.ms --baselines 0:1 -o wrong.png
expect_stderr "--plot fringes"
expect_exit 1 quicklook obs.ms --plot autos -o wrong.png
expect_stderr "no usable data"
expect_exit 2 quicklook obs.ms --plot pie -o wrong.png
expect_exit '1|3' quicklook obs.ms --column NO_SUCH -o wrong.png
expect_stderr NO_SUCH
mkdir broken.ms && cp obs.ms/table.dat broken.ms/
expect_exit '1|3' quicklook broken.ms -o wrong.png
expect_no_file wrong.png

simulate --array mwa-32t --sky sky.txt --freq 150MHz --bandwidth 1.28MHz --channels 32 --duration 8ms --bits 4 \
  --noise 1000Jy --drop 0.1 -q -o rec.dada || fail "no voltages to look at"
run quicklook rec.dada
is_png rec.png 1900 1290
run bash -c 'quicklook --samples 0:128 -o some.png <rec.dada'
cmp -s <(pixels rec.png) <(pixels some.png) && fail "--samples changes nothing"
head -c $(($(stat -c %s rec.dada) - 100)) rec.dada >torn.dada
expect_exit 3 quicklook torn.dada -o wrong.png
expect_stderr torn.dada
expect_exit 3 bash -c 'head -c 2000 rec.dada | quicklook -o wrong.png'
expect_exit 2 quicklook rec.dada --samples 100000: -o wrong.png
expect_no_file wrong.png

run bash -c 'set -o pipefail; correlate rec.dada --integration 2ms -q -o - | quicklook -o vis.png'
is_png vis.png 2180 1160
run correlate rec.dada --integration 2ms -q -o rec.vis
run quicklook rec.vis -o vis-file.png
run quicklook rec.vis --plot autos -o autos.png
is_png autos.png
expect_exit 3 bash -c 'head -c 20000 rec.vis | quicklook -o wrong.png'
expect_no_file wrong.png

# Frames of a cube: real and imaginary parts of two times.
printf 'Format = Name, Type, Ra, Dec, I\na, POINT, 02:28:00, -26.42.00, 100\n' >zenith.txt
run simulate --array mwa-32t --sky zenith.txt --channels 1 --bandwidth 10kHz --duration 40ms -o cube.dada
run epic-image -q cube.dada --size 32 --accumulate 20ms --pol XX,XY -o cube.fits
for frame in 0 1 2 3; do
  run quicklook cube.fits --frame $frame -o frame$frame.png
  is_png frame$frame.png
done
cmp -s frame0.png frame1.png && fail "real and imaginary parts look alike"
cmp -s frame0.png frame2.png && fail "two times look alike"
expect_exit 2 quicklook cube.fits --frame 4 -o frame4.png
expect_stderr "frames 0 to 3"

# --stats: JSON for scripts, of every kind of input; a picture only with -o. Perl's parser stands for theirs.
need perl
# member NAME...: the value of that path in the JSON on stdout, list items by number; "null" and booleans as such.
member() {
  perl -MJSON::PP -0777 -ne 'BEGIN { @path = splice @ARGV } $v = decode_json($_);
    $v = ref $v eq "ARRAY" ? $v->[$_] : $v->{$_} for @path;
    print defined $v ? $v : "null"' "$@" <"$(stdout_file)"
}
run quicklook sky.fits --stats
expect_no_file stats.png
expect_near "$(member width)" 64 0 "the width"
expect_near "$(member maximum)" 96 0 "the largest pixel, 33 + 63"
expect_near "$(member maximum_x)" 63 0 "its column"
expect_near "$(member minimum)" 33 0 "the smallest pixel"
expect_near "$(member mean)" 64.5 1e-9 "the mean"
expect_near "$(member sum)" 198144 0 "the sum, 64.5 * 64 * 48"
expect_near "$(member rms)" 67.0933 1e-4 "the rms" # sqrt(64.5^2 + (64^2 - 1) / 12)
expect_near "$(member noise)" 23.7216 1e-9 "the noise, 1.4826 * 16"
expect_near "$(member centre_ra_deg)" 187.5 1e-12 "the right ascension"
[ "$(member kind)" = image ] || fail "an image is of kind $(member kind)"
run quicklook sky.fits --stats --crop 3,4,20,10
expect_near "$(member maximum)" 55 0 "the largest pixel of the part, 33 + 22"
run quicklook sky.fits --stats -o both.png
is_png both.png
expect_stdout '"maximum": 96'
expect_exit 2 quicklook sky.fits --stats -o -
expect_stderr --stats
run quicklook blank.fits --stats
expect_near "$(member blank_pixels)" 4 0 "the blank pixels"
run bash -c 'quicklook --stats <sky.fits'
expect_stdout '"maximum": 96'
expect_exit 1 bash -c 'quicklook sky.fits --stats >/dev/full'

run quicklook obs.ms --stats
[ "$(member kind)" = visibility ] || fail "a set is of kind $(member kind)"
expect_near "$(member rows)" 1488 0 "the rows, 496 baselines in 3 s"
expect_near "$(member flagged_fraction)" 0 0 "the flagged fraction"
expect_near "$(member products 0 mean_amplitude)" 1 1e-6 "the mean amplitude of the one source that is up, 1 Jy"
[ "$(member products 0 mean_autocorrelation)" = null ] || fail "there are no autocorrelations, but $(member products 0 mean_autocorrelation)"
run quicklook rec.dada --stats
expect_near "$(member inputs 63 antenna)" 31 0 "the last input's antenna"
missing=$(for i in {0..63}; do member inputs $i missing_fraction && echo; done | awk '{ sum += $1 } END { print sum / NR }')
expect_near "$missing" 0.1 0.08 "the missing fraction of --drop 0.1"
run quicklook rec.vis --stats
expect_near "$(member flagged_fraction)" 0.19 0.08 "the flagged fraction, 1 - 0.9^2"
run beamform rec.dada --centre zenith --integrate 16 -q -o beam.fil
run quicklook beam.fil --stats
expect_near "$(member bands)" 32 0 "the bands of the filterbank"
first=$(member mean_power)
run quicklook beam.fil beam.fil --stats
expect_near "$(member beams 1 mean_power)" "$first" "$(awk -v x="$first" 'BEGIN { print 1e-6 * x }')" "the mean power"

# Light curves: a source of 100 Jy at the zenith in two times of a cube, at its place, and one that never rises.
printf 'Format = Name, Type, Ra, Dec, I\na, POINT, 02:28:00, -26.42.00, 100\nnever, POINT, 02:28:00, 80.00.00, 1\n' >curve.txt
run epic-image -q cube.dada --size 64 --field 8deg --accumulate 20ms --pol XX,XY -o narrow.fits
run quicklook narrow.fits --light-curve curve.txt --stats
expect_near "$(member images)" 2 0 "the times of the cube, real parts alone"
expect_near "$(member time_s 1)" 0.02 1e-9 "the second time"
expect_near "$(member sources 0 mean)" 100 10 "the source's mean" # 5 % of its own noise
[ "$(member sources 1 values 0)" = null ] || fail "a source below the horizon has $(member sources 1 values 0)"
second=$(member sources 0 values 1)
run epic-image -q cube.dada --size 64 --field 8deg --accumulate 20ms --pol XX -o time%d.fits
run quicklook time0.fits time1.fits --light-curve curve.txt --stats -o curve.png
is_png curve.png 1260 960
expect_near "$(member sources 0 values 1)" "$second" 0.1 "the second value from files, whose centres follow the zenith,"
run quicklook time0.fits time0.fits --light-curve curve.txt --stats -o one-time.png
expect_near "$(member time_s 1)" 0 0 "the time of the same image again"
is_png one-time.png
expect_exit 2 quicklook time1.fits time0.fits --light-curve curve.txt -o wrong.png
expect_stderr "earlier"
expect_exit 2 quicklook rec.dada --light-curve curve.txt -o wrong.png
expect_exit 3 quicklook sky.fits --light-curve curve.txt -o wrong.png
expect_stderr DATE-OBS

# Several images, and all planes of one, side by side.
run quicklook sky.fits sky.fits large.fits --size 300 -o panels.png
is_png panels.png
run quicklook cube.fits --plane all --frame 0 --size 300 -o planes.png
run quicklook cube.fits --plane 0 --frame 0 --size 300 -o plane0.png
[ "$(stat -c %s planes.png)" -gt "$(stat -c %s plane0.png)" ] || fail "all planes are no more than one"
run quicklook cube.fits --plane all --frame 0 --stats
[ "$(member images 1 stokes)" = XY ] || fail "the second plane is $(member images 1 stokes)"
expect_exit 2 quicklook sky.fits rec.dada -o wrong.png
expect_stderr "rec.dada"
expect_no_file wrong.png

# A folded profile, as fold-pulsar writes it.
{
  printf '# fold-pulsar 0.1.0\n# source B0329+54, 10 s from 2024-01-01T19:58:00.000 on\n# period_s 0.5\n# dm_pc_cm3 26.76\n'
  printf '# snr 12.5\n# turns 20\nphase,power,samples\n0.125,0,100\n0.375,8,100\n0.625,1,100\n0.875,-1,100\n'
} >profile.csv
run quicklook profile.csv
is_png profile.png 1020 640
run bash -c 'quicklook --stats <profile.csv'
[ "$(member object)" = B0329+54 ] || fail "the profile is of $(member object)"
expect_near "$(member snr)" 12.5 0 "its S/N"
expect_near "$(member length_s)" 10 1e-12 "its length"
expect_near "$(member profile 1)" 8 0 "its second bin"
[ "$(member start_utc)" = 2024-01-01T19:58:00.000 ] || fail "the profile begins at $(member start_utc)"
grep -v '^# source' profile.csv >timeless.csv
run quicklook timeless.csv --stats -o timeless.png
[ "$(member start_utc)" = null ] || fail "a profile without a time begins at $(member start_utc)"
sed 's/8,100/8/' profile.csv >torn.csv
expect_exit 3 quicklook torn.csv -o wrong.png
expect_stderr torn.csv
expect_no_file wrong.png
