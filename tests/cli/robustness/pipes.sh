# SPDX-License-Identifier: GPL-3.0-or-later
# Streams through cat, tee, dd, slow readers, readers that leave and pipes that do not wait, once
# (tests/robustness/pipes.sh: often).
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/robustness/pipes.sh" || exit 1
RANDOM=20240104
make_streams
through_pipes 1
