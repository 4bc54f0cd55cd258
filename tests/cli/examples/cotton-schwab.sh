# SPDX-License-Identifier: GPL-3.0-or-later
# examples/cotton-schwab with the tools as they are built here and eight minutes instead of 32: the loop of single tools and
# clean of the set agree as the example promises.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
run "$APSYN_SOURCE/examples/cotton-schwab" --tools "$APSYN_BIN" --short
expect_file cotton-schwab-out/{loop,whole}-{model,residual,image}.fits cotton-schwab-out/{loop,whole}.png
expect_stdout "Fluxes differ by"
expect_exit 2 "$APSYN_SOURCE/examples/cotton-schwab" --fast
