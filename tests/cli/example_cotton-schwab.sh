# SPDX-License-Identifier: GPL-3.0-or-later
# examples/cotton-schwab with the tools as they are built here and eight minutes instead of 32: the loop of single tools and
# clean of the set agree as the example promises.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
mkdir examples
cp "$APSYN_SOURCE/examples/ionosphere-sky.txt" examples/
sed -e '/^heading "Setting up/,/^PATH=/d' -e 's/--duration 32min/--duration 8min/' \
  "$APSYN_SOURCE/examples/cotton-schwab" >examples/cotton-schwab
grep -q 'duration 8min' examples/cotton-schwab || fail "the length of the night is not where it was"
expect_exit 0 bash examples/cotton-schwab
expect_file cotton-schwab-out/{loop,whole}-{model,residual,image}.fits cotton-schwab-out/{loop,whole}.png
expect_stdout "Fluxes differ by"
