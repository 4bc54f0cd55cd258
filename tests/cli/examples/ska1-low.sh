# SPDX-License-Identifier: GPL-3.0-or-later
# The benchmark of SKA1-Low, shortened: it checks that gridding, CLEAN and degridding take the sky away, and prints its
# figures.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

run "$APSYN_SOURCE/examples/ska1-low" --tools "$APSYN_BIN" --steps 4 --channels 4 --size 512
expect_stdout "24976 baselines x 4 integrations x 4 channels, image 512 x 512" "mean amplitude"
expect_file ska1-low-out/{dirty-dirty.fits,ska-model.fits,ska.png,figures.txt,grid.log,degrid.log}
cat ska1-low-out/figures.txt
[ "$(grep -c 'Mvis/s$' ska1-low-out/figures.txt)" -eq 4 ] || fail "four figures are to be printed"
awk '/Mvis/ && !($(NF - 1) > 0) { exit 1 }' ska1-low-out/figures.txt || fail "a figure is zero"
[ ! -e ska1-low-out/obs.ms ] || fail "the visibilities were left behind"
expect_exit 2 "$APSYN_SOURCE/examples/ska1-low" --fast
expect_exit 2 "$APSYN_SOURCE/examples/ska1-low" --size
