# SPDX-License-Identifier: GPL-3.0-or-later
# quicklook on sets, streams and cubes: every plot, parts of the data, what is wrong with them.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/cli/quicklook/lib.sh" || exit 1
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
expect_different <(pixels waterfall.png) <(pixels waterfall1.png) "--baselines changes no waterfall"
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
expect_different <(pixels rec.png) <(pixels some.png) "--samples changes nothing"
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
expect_different <(pixels frame0.png) <(pixels frame1.png) "real and imaginary parts look alike"
expect_different <(pixels frame0.png) <(pixels frame2.png) "two times look alike"
expect_exit 2 quicklook cube.fits --frame 4 -o frame4.png
expect_stderr "frames 0 to 3"

# A cube is shown as the mean of its channels and times; --plane and --frame choose one. The first of three channels is 0,
# as an edge channel without data; the others are 33 + column and 43 + column.
{
  cards 'SIMPLE  =                    T' 'BITPIX  =                    8' 'NAXIS   =                    4' \
    'NAXIS1  =                   40' 'NAXIS2  =                   24' 'NAXIS3  =                    3' \
    'NAXIS4  =                    1' "CTYPE1  = 'RA---SIN'" "CTYPE2  = 'DEC--SIN'" "CTYPE3  = 'FREQ    '" \
    "CTYPE4  = 'STOKES  '" 'CRPIX1  =                   21' 'CRPIX2  =                   13' 'CRPIX3  =                    1' \
    'CRPIX4  =                    1' 'CRVAL1  =                187.5' 'CRVAL2  =                -30.0' \
    'CRVAL3  =          100000000.0' 'CRVAL4  =                    1' 'CDELT1  =                 -0.1' \
    'CDELT2  =                  0.1' 'CDELT3  =            1000000.0' 'CDELT4  =                    1' \
    "CUNIT3  = 'Hz      '" "BUNIT   = 'JY/BEAM '" 'END'
  head -c 960 /dev/zero
  for first in 33 43; do
    awk -v first=$first 'BEGIN { for (i = 0; i < 960; ++i) printf "%c", i % 40 + first }'
  done
} >edge.fits
run quicklook edge.fits --stats -o edge.png
expect_stderr "mean of 2 of 3 channels"
expect_stdout '"planes": 3' '"channels_averaged": 2' '"maximum": 77' '"mean": 57.5' '"frequency_hz": 101500000'
run quicklook edge.fits --stats --plane I
expect_stdout '"mean": 57.5'
for plane in 1 I,1; do
  run quicklook edge.fits --stats --plane $plane
  expect_stdout '"mean": 52.5' '"channels_averaged": 1'
done
run quicklook edge.fits --plane all -o all-channels.png
expect_stderr wrote
for frame in 0 2; do
  run quicklook cube.fits --stats --frame $frame
  sed -n 's/.*"sum": \([-0-9.e+]*\).*/\1/p' "$(stdout_file)" >sum$frame
done
run quicklook cube.fits --stats -o mean.png
expect_stdout '"times_averaged": 2'
expect_stderr "mean of 2 times"
sum=$(sed -n 's/.*"sum": \([-0-9.e+]*\).*/\1/p' "$(stdout_file)")
expect_near "$sum" "$(paste sum0 sum2 | awk '{ printf "%.9g", ($1 + $2) / 2 }')" 1e-3 "the sum of the mean of two times"
