# SPDX-License-Identifier: GPL-3.0-or-later
# For the tests of idg-grid: headers and pixels of images, and a real set.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
tar xzf "$APSYN_SOURCE/tests/data/LOFAR-3C48-8st.MS.tgz" 2>/dev/null
set=$(ls -d *.MS | head -1)

# card FILE KEY: the value of a header card.
card() { head -c 8640 "$1" | fold -w 80 | awk -v key="$2" '$1 == key || $1 == key "=" { sub(/^[^=]*= */, ""); sub(/ *\/.*/, ""); print; exit }'; }
# pixels FILE: the bytes after the header, whose history names the options.
pixels() {
  local cards
  cards=$(head -c 57600 "$1" | fold -w 80 | grep -an '^END ' | head -1 | cut -d: -f1)
  tail -c +$(((cards + 35) / 36 * 2880 + 1)) "$1"
}
expect_same_pixels() { expect_same <(pixels "$1") <(pixels "$2") "$1 and $2 differ"; }
