# SPDX-License-Identifier: GPL-3.0-or-later
# quicklook on sets, streams and cubes: every plot, parts of the data, what is wrong with them.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/cli/lib_quicklook.sh" || exit 1
make_inputs

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
run quicklook rec.vis -o vis-file.png
run quicklook rec.vis --plot autos -o autos.png
is_png autos.png
expect_exit 3 bash -c 'head -c 20000 rec.vis | quicklook -o wrong.png'
expect_no_file wrong.png

# Frames of a cube: real and imaginary parts of two times.
for frame in 0 1 2 3; do
  run quicklook cube.fits --frame $frame -o frame$frame.png
  is_png frame$frame.png
done
cmp -s frame0.png frame1.png && fail "real and imaginary parts look alike"
cmp -s frame0.png frame2.png && fail "two times look alike"
expect_exit 2 quicklook cube.fits --frame 4 -o frame4.png
expect_stderr "frames 0 to 3"
