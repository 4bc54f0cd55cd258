# SPDX-License-Identifier: GPL-3.0-or-later
# The example of fringes, shortened: it checks the phase that fringe stopping leaves, and the pictures are drawn.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

run "$APSYN_SOURCE/examples/fringes" --tools "$APSYN_BIN" --duration 20s
expect_stdout "before: largest 3.14e+00 rad" "after:  largest"
grep -a '^before\|^after' "$(stdout_file)"
expect_file fringes-out/before.png fringes-out/after.png fringes-out/before.vis
expect_different fringes-out/before.png fringes-out/after.png "fringe stopping changes no picture"
expect_exit 2 "$APSYN_SOURCE/examples/fringes" --duration
expect_exit 2 "$APSYN_SOURCE/examples/fringes" --fast
