# SPDX-License-Identifier: GPL-3.0-or-later
# simulate's random ionospheres and what an ionosphere does to visibilities, up to where a source is found.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
need perl

cat >sky.txt <<'END'
Format = Name, Type, Ra, Dec, I
source, POINT, 02:28:15, -26.48.00, 10
END
observe="simulate --array mwa-32t --sky sky.txt --freq 150MHz --phase-centre 02:28:15,-26:48:00 --pol XX,YY"

# Random screens: the same for the same seed, whatever the threads; never overwritten unasked.
small="simulate --screen-size 60km --screen-spacing 2km --outer-scale 20km --duration 5min"
run $small -o a.fits
expect_file a.fits
for card in "CTYPE1  = 'EAST" "CTYPE2  = 'NORTH" "CTYPE3  = 'TIME" "NAXIS1  =                   31" \
  "NAXIS3  =                    3" "CDELT3  =                120.0" "BUNIT   = 'TECU" "HEIGHT  =             100000.0"; do
  head -c 2880 a.fits | grep -qF "$card" || fail "no '$card' in the header of a.fits"
done
run $small --threads 1 -o b.fits
expect_same <(tail -c +5761 a.fits) <(tail -c +5761 b.fits) # behind the header, whose HISTORY differs
expect_exit 2 $small -o a.fits
expect_stderr a.fits
run $small --seed 2 --overwrite -o b.fits
expect_different <(tail -c +5761 a.fits) <(tail -c +5761 b.fits) "another seed gives the same screens"
run $small --dry-run -o none.fits
expect_stdout "3 screens of 31 x 31 points"
expect_exit 2 $small --array mwa-32t -o none.fits
expect_stderr --array "does not end in .fits"
expect_exit 2 $observe --tec-rms 1TECU -o none.ms
expect_stderr --tec-rms "ends in .fits"
expect_exit 2 $small --ionosphere a.fits -o none.fits
expect_stderr --ionosphere "does not end in .fits"
expect_exit 2 $small --tec-rms 0TECU -o none.fits
expect_exit 2 $small --tec-rms 1 -o none.fits
expect_stderr --tec-rms "has no unit"
expect_exit 2 simulate --screen-spacing 1m -o none.fits
expect_stderr "larger spacing"
expect_exit 2 $small --max-memory 10kB -o none.fits
expect_stderr --max-memory
expect_no_file none.fits none.ms none.dada

# Screens that do not cover the observation, in time or on the sky.
expect_exit 3 $observe --ionosphere a.fits --duration 7min --integration 1min -o none.ms
expect_stderr a.fits "2024-01-01T12:06:00" "cover the observation"
expect_exit 3 $observe --ionosphere a.fits --start 2024-01-01T09:00:00 -o none.ms
expect_exit 3 simulate --array mwa-32t --sky sky.txt --ionosphere a.fits --start 2024-01-01T12:00:00 --site=-60,116.67,0 -o none.ms
expect_stderr a.fits elevation "larger screen"
expect_exit 3 $observe --ionosphere sky.txt -o none.ms
expect_exit 1 $observe --ionosphere missing.fits -o none.ms
head -c 8000 a.fits >cut.fits
expect_exit 3 $observe --ionosphere cut.fits -o none.ms
expect_stderr cut.fits truncated
expect_no_file none.ms

# gradient NAME EAST NORTH: 4 x 4 points 100 km apart, for all times, that rise by 10 TECU in 100 km along east (EAST = 1)
# or north (NORTH = 1).
gradient() {
  perl -e '
    my ($name, $east, $north) = @ARGV;
    my @cards = ("SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 4", "NAXIS2  = 4", "BSCALE  = 10.0", "BZERO   = -15.0",
      "BUNIT   = \x27TECU\x27", "HEIGHT  = 100000.0");
    for (1, 2) {
      push @cards, "CTYPE$_  = \x27" . ("EAST", "NORTH")[$_ - 1] . "\x27", "CRPIX$_  = 2.5", "CRVAL$_  = 0.0",
        "CDELT$_  = 1E5", "CUNIT$_  = \x27m\x27";
    }
    my $header = join("", map { sprintf("%-80s", $_) } @cards, "END");
    open(my $out, ">:raw", $name);
    print $out $header, " " x (-length($header) % 2880);
    for my $y (0 .. 3) { for my $x (0 .. 3) { print $out chr($east * $x + $north * $y) } }
    print $out "\0" x (2880 - 16);' "$@"
}
# check_place NAME MOVED: cleans NAME's image and expects the source at MOVED.
check_place() {
  run clean $1-dirty.fits $1-psf.fits --threshold 0.2Jy --niter 1000 -o $1
  sed "s/02:28:15, -26.48.00/$2/" sky.txt >moved.txt
  run measure-sources $1-image.fits --sky moved.txt
  read -r _ _ _ ratio _ offset_asec _ < <(sed -n 2p "$(stdout_file)")
  expect_near "$ratio" 1 0.01 "the flux in $1-image.fits over the true one"
  expect_near "$offset_asec" 0 3 "the distance from the expected place in $1-image.fits"
}
image="idg-grid --size 200 --scale 1.5amin --psf-size 400 --weight natural"
# A gradient g moves a source by 8.44797245e9 c g / (2 pi nu^2) = 369.5 asec against itself: 27.6 s of right ascension.
gradient east.fits 1 0
gradient north.fits 0 1
declare -A moved=([east]="02:27:47.40, -26.48.00" [north]="02:28:15, -26.54.09.5")
for direction in east north; do
  run $observe --ionosphere $direction.fits -o $direction.ms
  run $image $direction.ms -o $direction
  check_place $direction "${moved[$direction]}"
done

# Voltages see the same.
run bash -c "simulate --array mwa-32t --sky sky.txt --freq 150MHz --ionosphere east.fits --duration 100ms --bits 32 |
  correlate --channels 64 --integration 50ms --phase-centre 02:28:15,-26:48:00 -o - | $image -o voltages"
check_place voltages "${moved[east]}"
expect_exit 3 simulate --array mwa-32t --sky sky.txt --ionosphere a.fits --start 2024-01-01T09:00:00 -o none.dada
expect_no_file none.dada
