# SPDX-License-Identifier: GPL-3.0-or-later
# Two runs at the same output or set, a few times (tests/robustness/two-writers.sh: a thousand), and names that one run
# would use twice or that lie in its input.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/robustness/two-writers.sh" || exit 1
RANDOM=20240103
make_shared
two_writers 2

# A set that is being changed is refused, and a run that waits for nothing says so.
cp -r in.ms set.ms
exec 5<set.ms
flock 5
expect_exit 1 idg-degrid -q --sky sky.txt set.ms
expect_stderr "set.ms: another run is changing it"
expect_exit 1 clean -q set.ms --size 64 --scale 10amin --niter 10 --update-model -o none
expect_stderr "set.ms: another run is changing it"
expect_exit 2 simulate -q --array array.csv --noise 100Jy --duration 1s --overwrite -o set.ms
expect_stderr "set.ms: another run is changing it"
exec 5>&-
run idg-degrid -q --sky sky.txt set.ms
expect_no_file none-image.fits

# Nothing is written into, over or around an input, nor twice under one name.
cp -r in.ms before.ms
refuse() {
  expect_exit 2 "$@"
  stderr_matches "$why"
}
why='lies in the input'
refuse quicklook in.ms -o in.ms/table.dat --overwrite
refuse quicklook in.ms -o in.ms/uv.png
refuse idg-grid in.ms --size 64 --scale 10amin -o in.ms/ANTENNA
refuse idg-grid in.ms --size 64 --scale 10amin --overwrite -o in.ms/
refuse clean in.ms --size 64 --scale 10amin --niter 1 -o in.ms/sky
refuse clean in.ms --size 64 --scale 10amin --niter 1 -o "$PWD/./in.ms/../in.ms/sky"
why='input .* lies in it|is the input'
refuse quicklook in.ms/ANTENNA -o in.ms --overwrite
refuse simulate --array array.csv --noise 1Jy --sky in.ms/table.dat -o in.ms --overwrite
diff -r --exclude table.lock before.ms in.ms >&2 || fail "an input was changed"
run beamform -q --channels 16 --centre zenith --integrate 8 in.dada -o in.fil
why='is the name of two outputs'
refuse fold-pulsar in.fil --period 5ms --dm 10 --bins 8 -o x --plot x
refuse search-transients in.fil --dm-range 0:20 -o x --plot ./x
refuse beamform --channels 16 --centre zenith --write-beams o0.fil in.dada -o 'o%d.fil'
expect_no_file x o0.fil

# What lies beside an output under the name of its part, and is somebody else's, stays.
mkdir sky-dirty.fits.part && echo text >sky-dirty.fits.part/thesis
echo download >q.png.part
expect_exit 2 idg-grid -q in.ms --size 64 --scale 10amin -o sky
expect_stderr "sky-dirty.fits.part: is there, where the output is to be written"
expect_exit 2 quicklook in.ms -o q.png
[ "$(cat sky-dirty.fits.part/thesis q.png.part)" = "text
download" ] || fail "somebody else's file was removed"
rm -r sky-dirty.fits.part q.png.part
expect_no_file sky-dirty.fits sky-psf.fits q.png
