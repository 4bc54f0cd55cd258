# SPDX-License-Identifier: GPL-3.0-or-later
# examples/self-calibration with the tools as they are built here: its commands work, and it reaches what it promises.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
run "$APSYN_SOURCE/examples/self-calibration" --tools "$APSYN_BIN"
expect_file self-calibration-out/round-{0,4}-image.fits self-calibration-out/{round-0,round-4,one-run,true}.png self-calibration-out/one-run.h5
expect_stdout "What the rounds do" "one-run: the residual is"
expect_exit 2 "$APSYN_SOURCE/examples/self-calibration" --fast
expect_exit 2 "$APSYN_SOURCE/examples/self-calibration" --tools
