# SPDX-License-Identifier: GPL-3.0-or-later
# The example of BEST-2, shortened: it checks the pulse's phase; here that Cassiopeia A is strongest in its own beam, at
# its transit, by what that beam and the beams half a degree off see of it, and that the pictures are drawn.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

run "$APSYN_SOURCE/examples/best-2" --tools "$APSYN_BIN" --short
expect_stdout "turn from where it was put"
grep -a 'beams$\|^S/N' "$(stdout_file)"
cd best-2-out || exit 1
expect_file pattern.png profile.png pulsar.png drift.png profile.csv field.csv
[ "$(wc -l <field.csv)" -gt 20 ] || fail "only $(wc -l <field.csv) lines of beams"
# powers FILE: one per line.
powers() {
  local header=$(($(grep -abo HEADER_END "$1" | head -1 | cut -d: -f1) + 10))
  tail -c +$((header + 1)) "$1" | od -A n -v -t f4 -w4
}
# 5 s of 200 Hz and two polarisations scatter by 2 %: the mean of the 60 s about the transit against the source and its
# noise, 5000 + 20000 / 32 Jy.
near() { powers "$1" | awk 'NR > 198 && NR <= 210 { sum += $1 } END { print sum / 12 }'; }
middle=$(near beam2.fil)
expect_near "$middle" 5625 280 "the power in the middle beam"
for beam in 0 1 3 4; do
  awk -v x="$(near beam$beam.fil)" -v y="$middle" 'BEGIN { exit !(x < 0.95 * y) }' || fail "beam$beam.fil is as strong: $(near beam$beam.fil)"
done
first=$(powers beam2.fil | awk 'NR <= 12 { sum += $1 } END { print sum / 12 }')
awk -v x="$first" -v y="$middle" 'BEGIN { exit !(x < 0.7 * y) }' || fail "the middle beam already has $first at the start"
expect_exit 2 "$APSYN_SOURCE/examples/best-2" --fast
expect_exit 2 "$APSYN_SOURCE/examples/best-2" --tools
