# SPDX-License-Identifier: GPL-3.0-or-later
# The example of LWA-SV, shortened to one flash of the pulsar: it checks that images from voltages and from visibilities
# agree; here that the pulsar flashes in its light curve and Cygnus A does not.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

run "$APSYN_SOURCE/examples/lwa-sv" --tools "$APSYN_BIN" --duration 400ms
expect_stdout "Cyg_A    epic-image"
grep -a 'correlate and idg-grid ' "$(stdout_file)"
cd lwa-sv-out || exit 1
expect_file voltages.png light-curves.png both.png flashes.fits epic.fits idg-dirty.fits
# value NAME KEY: of a source in the light curves.
value() { sed -n "s/.*\"name\": \"$1\".*\"$2\": \([-0-9.e+]*\).*/\1/p" light-curves.json; }
# Noise-like signals of 1000 samples scatter by 3 %, and with the other sources' by a little more.
expect_near "$(value Cyg_A mean)" 20000 600 "the mean brightness of Cygnus A"
expect_near "$(value Cyg_A scatter)" 0 1500 "its scatter"
awk -v scatter="$(value pulsar scatter)" -v mean="$(value pulsar mean)" 'BEGIN { exit !(scatter > mean) }' ||
  fail "the pulsar does not flash: $(value pulsar mean) with a scatter of $(value pulsar scatter)"
expect_exit 2 "$APSYN_SOURCE/examples/lwa-sv" --fast
expect_exit 2 "$APSYN_SOURCE/examples/lwa-sv" --tools
