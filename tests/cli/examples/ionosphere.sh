# SPDX-License-Identifier: GPL-3.0-or-later
# examples/ionosphere with the tools as they are built here and one snapshot instead of sixteen: its commands work, and
# the corrected image has the positions and fluxes that the example promises.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
expect_exit "0|1" "$APSYN_SOURCE/examples/ionosphere" --tools "$APSYN_BIN" --short
expect_file ionosphere-out/{plain,corrected}-image.fits ionosphere-out/{plain,corrected}.png
expect_stdout "What the correction does" "dynamic range is"
read -r _ offset _ flux _ range < <(grep '^corrected ' "$(stdout_file)")
expect_near "$offset" 0 0.05 "the largest offset in beams"
expect_near "$flux" 0 1 "the largest error of a bright flux in %"
[ "${range:-0}" -gt 5000 ] || fail "the dynamic range is $range" # 14828
expect_exit 2 "$APSYN_SOURCE/examples/ionosphere" --fast
expect_exit 2 "$APSYN_SOURCE/examples/ionosphere" --tools
