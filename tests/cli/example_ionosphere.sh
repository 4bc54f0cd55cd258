# SPDX-License-Identifier: GPL-3.0-or-later
# examples/ionosphere with the tools as they are built here and one snapshot instead of sixteen: its commands work, and
# the corrected image has the positions and fluxes that the example promises.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
mkdir examples
cp "$APSYN_SOURCE/examples/ionosphere-sky.txt" examples/
sed -e '/^heading "Setting up/,/^PATH=/d' -e 's/--duration 32min/--duration 2min/' \
  "$APSYN_SOURCE/examples/ionosphere" >examples/ionosphere
grep -q 'duration 2min' examples/ionosphere || fail "the length of the night is not where it was"
expect_exit "0|1" bash examples/ionosphere
expect_file ionosphere-out/{plain,corrected}-image.fits ionosphere-out/{plain,corrected}.png
expect_stdout "What the correction does" "dynamic range is"
read -r _ offset _ flux _ range < <(grep '^corrected ' "$(stdout_file)")
expect_near "$offset" 0 0.05 "the largest offset in beams"
expect_near "$flux" 0 1 "the largest error of a bright flux in %"
[ "${range:-0}" -gt 5000 ] || fail "the dynamic range is $range" # 14828
