# SPDX-License-Identifier: GPL-3.0-or-later
# The live station, shortened: it checks by itself that gains are followed and the dead stand is left out. Machines that test have
# other things to do: here images may be late.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

run "$APSYN_SOURCE/examples/live-station" --tools "$APSYN_BIN" --duration 18 --interval 2 --max-lag 4
expect_stdout "sets of gains, phases wrong by" "Stand105, dead after 7 s, is left out from"
cd live-station-out || exit 1
expect_file newest.png gains.csv report.json frames.stream
grep -q '^Stand105,,nan,nan$' gains.csv || fail "the dead stand has a gain"
[ "$(grep -c '^Stand' gains.csv)" -eq 63 ] || fail "$(grep -c '^Stand' gains.csv) rows of gains instead of 31 times two and one"
expect_exit 2 "$APSYN_SOURCE/examples/live-station" --fast
expect_exit 2 "$APSYN_SOURCE/examples/live-station" --duration
expect_exit 2 "$APSYN_SOURCE/examples/live-station" --duration 10 --interval 4
