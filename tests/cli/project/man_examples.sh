# SPDX-License-Identifier: GPL-3.0-or-later
# The EXAMPLES of the man pages run, each page's in order in an empty folder, two pages at a time.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

# example_script PAGE.scd: the literal blocks of EXAMPLES as one script.
example_script() {
  awk '/^# /{ inside = $0 == "# EXAMPLES"; next } inside' "$1" |
    awk '/^[ \t]*```/ { inside = !inside; next } inside' | sed 's/^[ \t]*//; s/^\$ //'
}
# run_examples PAGE.scd: a word on standard error when one of them fails.
run_examples() {
  local name
  name=$(basename "$1" .scd)
  example_script "$1" >"$name.sh"
  [ -s "$name.sh" ] || return 0
  mkdir "$name" && cd "$name" && timeout 120 bash -eu -o pipefail -x "../$name.sh" >out.txt 2>err.txt && return
  echo "$name: $(tail -5 err.txt)" >&2
  return 1
}
export -f example_script run_examples
printf '%s\0' "$APSYN_SOURCE"/man/*.scd | xargs -0 -P 2 -I {} bash -c 'run_examples "$1"' - {} || fail "examples failed"
while read -r tool; do
  [ -e "$APSYN_SOURCE/man/$tool.1.scd" ] && [ ! -s "$tool.1.sh" ] && fail "$tool.1 has no literal block in EXAMPLES"
done < <(all_tools)
:
