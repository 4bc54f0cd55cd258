# SPDX-License-Identifier: GPL-3.0-or-later
# The man pages: each tool has one, its options are those of --help (both ways) under the same headings, and the formatter
# has nothing to complain about. man_examples.sh runs their EXAMPLES.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
pages=$APSYN_BUILD/man

# section NAME PAGE.scd: the lines of one section.
section() { awk -v name="# $1" '/^# /{ inside = $0 == name; next } inside' "$2"; }

# options_in_page PAGE.scd: "HEADING: FLAG" for the flags that head the entries of OPTIONS, sorted, one per line.
options_in_page() {
  section OPTIONS "$1" | awk '/^## / { heading = substr($0, 4) }
    /^\*-/ {
    line = $0
    while (match(line, /\*-[-a-zA-Z0-9]+\*/)) {
      print heading ": " substr(line, RSTART + 1, RLENGTH - 2)
      line = substr(line, RSTART + RLENGTH)
    }
  }' | sort -u
}
options_in_help() {
  "$1" --help | awk '/^[A-Z].*:$/ { heading = $0 }
    /^  -/ { n = split($1, flags, ","); for (i = 1; i <= n; i++) print heading " " flags[i] }' | sort -u
}
# headings PAGE.scd|TOOL: in their order.
headings_in_page() { section OPTIONS "$1" | sed -n 's/^## //p'; }
headings_in_help() { "$1" --help | sed -n '/^Positionals:$/d; s/^\([A-Z].*\):$/\1/p'; }

while read -r tool; do
  source=$APSYN_SOURCE/man/$tool.1.scd
  [ -s "$source" ] || { fail "$tool has no man page" && continue; }
  for name in NAME SYNOPSIS DESCRIPTION OPTIONS EXAMPLES "EXIT STATUS" "SEE ALSO"; do
    [ -n "$(section "$name" "$source")" ] || fail "$tool.1 has no section $name"
  done
  options_in_page "$source" >page.txt
  options_in_help "$tool" >help.txt
  diff <(headings_in_help "$tool") <(headings_in_page "$source") >&2 || fail "$tool: other headings in --help (<) than in the page (>)"
  [ "$(headings_in_help "$tool" | sed -n '1p; x; $p' | tr '\n' ,)" = "Input and output,Compute," ] ||
    fail "$tool --help does not begin with input and output, or end with Compute and General: $(headings_in_help "$tool" | tr '\n' ,)"
  [ "$(headings_in_help "$tool" | tail -1)" = General ] || fail "$tool --help does not end with General"
  [ -z "$(headings_in_help "$tool" | sort | uniq -d)" ] || fail "$tool --help has a heading twice"
  while read -r option; do fail "$tool $option is in --help and not in the page"; done < <(comm -13 page.txt help.txt)
  while read -r option; do fail "$tool $option is in the page and not in --help"; done < <(comm -23 page.txt help.txt)
done < <(all_tools)

for source in "$APSYN_SOURCE"/man/*.scd; do
  page=$(basename "$source" .scd)
  expect_file "$pages/$page"
  head -1 "$source" | grep -qE "^${page%.*}\(${page##*.}\)" || fail "$page.scd starts with another name"
  if command -v mandoc >/dev/null; then
    # scdoc itself puts a paragraph after every heading, which mandoc notes.
    while read -r line; do fail "$line"; done < <(mandoc -Tlint -W warning "$pages/$page" 2>&1 | grep -v 'skipping paragraph macro')
  fi
  if command -v groff >/dev/null; then
    while read -r line; do fail "$page: $line"; done < <(groff -t -ww -man -Tutf8 -z "$pages/$page" 2>&1)
  fi
  # Every page of ours that it points to exists.
  while read -r name; do
    [ -e "$APSYN_SOURCE/man/$name.scd" ] || fail "$page points to $name, which is not there"
  done < <(section "SEE ALSO" "$source" | grep -oE '\*[-a-z0-9]+\*\([157]\)' | sed 's/[*()]/ /g' | awk '{ print $1 "." $2 }')
done

command -v mandoc >/dev/null && command -v groff >/dev/null || skip "mandoc or groff is not installed"
