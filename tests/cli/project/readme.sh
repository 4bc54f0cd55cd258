# SPDX-License-Identifier: GPL-3.0-or-later
# The shell lines of the README's sections on chaining and batches run as they are, in order; its links and the tools in
# its table exist.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
TIME_LIMIT=300
readme=$APSYN_SOURCE/README.md

ln -s "$APSYN_SOURCE/examples" examples
awk '/^## /{ inside = /^## (Chain|Batch)/ } /^```/ { block = !block; next } inside && block' "$readme" >commands.sh
[ "$(wc -l <commands.sh)" -gt 8 ] || fail "finds only $(wc -l <commands.sh) lines of commands in the README"
run bash -eu -o pipefail -x commands.sh
expect_file sky-dirty.fits sky-psf.fits sky-image.fits sky.png night-1.dada night-3.ms

while read -r tool; do
  grep -q "^| \`$tool\` |" "$readme" || fail "the table of tools lacks $tool"
done < <(all_tools)
while read -r path; do
  [ -e "$APSYN_SOURCE/$path" ] || fail "the README points to $path, which is not there"
done < <(grep -oE '\]\([^)#]+\)|`(\./)?(examples|tests|tools|libcore|kernels|man)/[^` ]*`' "$readme" | sed 's/^](//; s/[)`]//g' | grep -v '^http' | sort -u)
