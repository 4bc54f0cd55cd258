# SPDX-License-Identifier: GPL-3.0-or-later
# quicklook on small FITS files written here: kinds of input and output, options, hostile files.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/cli/quicklook/lib.sh" || exit 1

fits sky.fits 64 48 "OBJECT  = 'Test field'"

# Output: beside the input by default, or named, or a pipe; the same bytes each time that its name is given alike.
run quicklook sky.fits
is_png sky.png
expect_stderr "quicklook: info: wrote sky.png"
expect_no_stdout
run quicklook sky.fits -o named.png
run bash -c 'set -o pipefail; cat sky.fits | quicklook >piped.png'
is_png piped.png
run bash -c 'set -o pipefail; (head -c 3 sky.fits; sleep 0.1; tail -c +4 sky.fits) | quicklook - --threads 1 >slow.png'
run bash -c 'quicklook - <sky.fits >redirected.png'
expect_same <(pixels sky.png) <(pixels named.png) "a name for the picture changes it"
expect_different sky.png redirected.png "the provenance of a file and of a pipe cannot be the same"
expect_same piped.png slow.png
expect_same piped.png redirected.png
grep -aq "quicklook sky.fits" sky.png || fail "sky.png does not tell the command that made it"
expect_exit 2 quicklook sky.fits
expect_stderr sky.png --overwrite
run quicklook sky.fits --overwrite -q
[ -s "$(stderr_file)" ] && fail "quicklook -q writes on stderr"
expect_exit 141 bash -c 'set -o pipefail; quicklook sky.fits --size 4000 -o - | :'
expect_exit 1 bash -c 'quicklook sky.fits -o - >/dev/full'
expect_exit 1 quicklook sky.fits -o no/such/folder/x.png
run quicklook --dry-run sky.fits -o dry.png
expect_stdout sky.fits image dry.png
expect_no_file dry.png

# The suffix is the format; vectors hold text as text, one image for the data and one for the colour bar.
for name in sky.pdf sky.SVG; do
  run quicklook sky.fits --title 'A <b> & "c"' --threads 1 -o $name
  cp $name first && run quicklook sky.fits --title 'A <b> & "c"' --threads 2 --overwrite -o $name
  expect_same first $name
  grep -aq "quicklook --title 'A" $name || fail "$name does not tell the command that made it"
done
[ "$(head -c 5 sky.pdf)" = %PDF- ] && tail -c 8 sky.pdf | grep -aq '%%EOF' || fail "sky.pdf is no PDF"
grep -aq '/FontFile' sky.pdf || fail "sky.pdf holds no font"
! grep -aq 'CreationDate' sky.pdf || fail "sky.pdf depends on the time of day"
[ "$(grep -ac '/Subtype /Image' sky.pdf)" -eq 2 ] || fail "sky.pdf has not two images"
[ "$(head -c 5 sky.SVG)" = '<?xml' ] && [ "$(tail -n 1 sky.SVG)" = '</svg>' ] || fail "sky.SVG is no SVG"
for text in 'A &lt;b&gt; &amp; ' 'Right ascension (J2000)' 'Jy/beam'; do
  grep -q "<text [^>]*>$text" sky.SVG || fail "sky.SVG has no text '$text'"
done
[ "$(grep -c '<image ' sky.SVG)" -eq 2 ] || fail "sky.SVG has not two images"
for name in sky.jpg sky sky.png.gz; do
  expect_exit 2 quicklook sky.fits -o $name
  expect_stderr "$name" .png .pdf .svg
  expect_no_file $name
done

# The letters are the same whatever the user's home and fontconfig's settings are; nothing is kept in either.
mkdir home
for surroundings in 'HOME=/no/such/home' "HOME=$PWD/home XDG_CACHE_HOME=$PWD/home/cache" 'FONTCONFIG_FILE=/no/such/file' \
  'FONTCONFIG_PATH=/no/such/folder FONTCONFIG_SYSROOT=/no/such/root' 'LC_ALL=tr_TR.UTF-8 PANGOCAIRO_BACKEND=win32'; do
  # shellcheck disable=SC2086
  run env -i PATH="$PATH" $surroundings quicklook -q sky.fits -o named.png --overwrite
  [ ! -s "$(stderr_file)" ] || fail "$surroundings: $(cat "$(stderr_file)")"
  expect_same <(pixels sky.png) <(pixels named.png)
done
[ -z "$(ls -A home)" ] || fail "quicklook leaves $(ls -A home) at home"

# Every option draws something; pictures that should differ do.
cat >sky.txt <<'SKY'
Format = Name, Type, Ra, Dec, I
alpha, POINT, 12:30:00, -30.00.00, 10
elsewhere, POINT, 02:30:00, 30.00.00, 1
SKY
n=0
for options in '--title Heading' '--size 500' '--colour-map grey' '--range 50:60' '--percentile 90' '--stretch log' \
  '--stretch sqrt' '--stretch asinh' '--contours 40,60' '--contours=2s,3s' '--mark sky.txt' '--crop 3,4,20,10' '--zoom 2' '--grid off'; do
  n=$((n + 1))
  # shellcheck disable=SC2086
  run quicklook sky.fits $options -o option$n.png
  is_png option$n.png
done
run quicklook sky.fits --contours=-1s,1s --kind image -o outside.png
expect_same <(pixels sky.png) <(pixels outside.png) "contours outside of the range, or the kind that it is, change the picture"
run quicklook sky.fits --range -10:60.5 -o negative.png
run quicklook sky.fits --plane 0 -o plane.png
run quicklook sky.fits --plane I -o stokes.png
fits large.fits 1500 20
run quicklook large.fits --size 300 -o mean.png
run quicklook large.fits --size 300 --reduce max -o max.png
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
