# SPDX-License-Identifier: GPL-3.0-or-later
# Two runs at the same output or set, a few times (tests/robustness/two-writers.sh: a thousand), and names that one run
# would use twice or that lie in its input.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/robustness/two-writers.sh" || exit 1
RANDOM=20240103
make_shared
two_writers 1

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
cp -r in.ms other.ms
run idg-grid -q in.ms --size 64 --scale 10amin --no-psf -o sky
why='lies in the Measurement Set|is a folder'
refuse quicklook sky-dirty.fits -o other.ms/table.dat --overwrite
refuse quicklook sky-dirty.fits -o other.ms/sky.png
mv other.ms other.png
refuse quicklook sky-dirty.fits -o other.png --overwrite
mv other.png other.ms
diff -r --exclude table.lock before.ms other.ms >&2 || fail "a set that is not read was changed"
rm -r other.ms sky-dirty.fits
why='is the name of two outputs'
refuse fold-pulsar in.fil --period 5ms --dm 10 --bins 8 -o x --plot x
refuse search-transients in.fil --dm-range 0:20 -o x --plot ./x
refuse beamform --channels 16 --centre zenith --write-beams o0.fil in.dada -o 'o%d.fil'
why="of another's part|standard output has"
refuse fold-pulsar in.fil --period 5ms --dm 10 --bins 8 -o x --plot x.part
refuse fold-pulsar in.fil --period 5ms --dm 10 --bins 8 -o - --plot -
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
# Folders that many may write in have a sticky bit, too.
mkdir -m 1777 shared.ms.part && echo text >shared.ms.part/data
expect_exit 2 simulate -q --array array.csv --noise 1Jy --duration 1s -o shared.ms
expect_file shared.ms.part/data
rm -r shared.ms.part
run idg-grid -q in.ms --size 64 --scale 10amin -o sky
echo text >sky-psf.fits.old.part
run idg-grid -q in.ms --size 64 --scale 10amin --overwrite -o sky
[ "$(cat sky-psf.fits.old.part)" = text ] || fail "somebody else's file was removed"
rm sky-psf.fits.old.part

# What standard output does not take, the picture beside it does not outlive.
if [ -w /dev/full ]; then
  echo older >q.png
  expect_exit 1 bash -c 'quicklook -q --stats sky-dirty.fits -o q.png --overwrite >/dev/full'
  [ "$(cat q.png)" = older ] || fail "a picture was replaced by a run that failed"
fi
