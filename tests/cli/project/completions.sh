# SPDX-License-Identifier: GPL-3.0-or-later
# Completions and the installed tree: what `cmake --install` leaves is whole, and the bash completion offers what --help
# says. The zsh and fish files are checked by those shells where they are installed.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

run env DESTDIR="$PWD/root" cmake --install "$APSYN_BUILD" --prefix /usr
usr=root/usr
while read -r tool; do
  expect_file "$usr/bin/$tool" "$usr/share/man/man1/$tool.1" "$usr/share/bash-completion/completions/$tool" \
    "$usr/share/zsh/site-functions/_$tool" "$usr/share/fish/vendor_completions.d/$tool.fish"
  run "$usr/bin/$tool" --version
  expect_stdout "$tool "
done < <(all_tools)
for page in "$APSYN_SOURCE"/man/*.scd; do
  page=$(basename "$page" .scd)
  expect_file "$usr/share/man/man${page##*.}/$page"
done

# offers WORD...: what the bash completion of the command line says, one per line.
offers() {
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  "_apsyn_${1//-/_}"
  [ ${#COMPREPLY[@]} -eq 0 ] || printf '%s\n' "${COMPREPLY[@]}"
}

mkdir folder && cd folder && echo x >"a b.fits" && echo x >c.ms
while read -r tool; do
  # shellcheck disable=SC1090
  source "../$usr/share/bash-completion/completions/$tool" || fail "bash does not read the completion of $tool"
  complete -p "$tool" >/dev/null || fail "$tool has no completion"
  offered=$(offers "$tool" - | sort)
  in_help=$("$tool" --help | grep -oE '^  -[^ ]+' | tr -d ' ' | tr ',' '\n' | sort)
  [ "$offered" = "$in_help" ] || fail "$tool offers other options than its --help: $(diff <(echo "$offered") <(echo "$in_help"))"
  [ "$(offers "$tool" --overw)" = --overwrite ] || fail "$tool --overw does not complete"
  [ "$(offers "$tool" --progress o | xargs)" = "on off" ] || fail "$tool --progress o: $(offers "$tool" --progress o)"
  [ "$(offers "$tool" --progress = a)" = auto ] || fail "$tool --progress=a: $(offers "$tool" --progress = a)"
  [ "$(offers "$tool" -o a)" = "a b.fits" ] || fail "$tool -o a: $(offers "$tool" -o a)"
  # Files are offered where files are meant: in place of INPUTs and after options that name some, nowhere else.
  "$tool" --help >../help.txt
  expected=c.ms
  grep -q '^  INPUT' ../help.txt || expected=
  [ "$(offers "$tool" c)" = "$expected" ] || fail "$tool c: $(offers "$tool" c)"
  while read -r flag type; do
    expected=
    case $type in
      Excludes:* | Needs:*) continue ;; # it takes no value
      FILE* | PATH* | 'NAME|FILE'*) expected=c.ms ;;
    esac
    [ "$(offers "$tool" "$flag" c.)" = "$expected" ] || fail "$tool $flag $type c. offers '$(offers "$tool" "$flag" c.)'"
  done < <(sed -nE 's/^  (-[a-z],)?(--[a-z0-9-]+) ([^ ]+).*/\2 \3/p' ../help.txt)
done < <(all_tools)
cd ..

if command -v zsh >/dev/null; then
  for file in "$usr"/share/zsh/site-functions/_*; do run zsh -n "$file"; done
fi
if command -v fish >/dev/null; then
  for file in "$usr"/share/fish/vendor_completions.d/*.fish; do run fish --no-execute "$file"; done
fi
