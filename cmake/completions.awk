# SPDX-License-Identifier: GPL-3.0-or-later
# Turns the --help of a tool into its completion for one shell: awk -v shell=bash|zsh|fish -v tool=NAME -f this.
# An option line starts with two spaces and '-'; its flags and type end where the column of descriptions begins. A
# type WORD:{a,b} lists its values; files, which types of that name tell, complete as file names, other values as
# nothing. Words that are no option are files where the tool has INPUTs.
BEGIN { column = 34; n = 0; has_inputs = 0 }

/^  INPUT/ { has_inputs = 1 }

/^  -/ {
  head = $0
  help = ""
  if (length($0) > column && substr($0, column, 1) == " ") {
    head = substr($0, 1, column)
    help = substr($0, column + 1)
  }
  sub(/^ +/, "", head)
  split(head, words, " ")
  n++
  flags[n] = words[1]
  gsub(/,/, " ", flags[n])
  type[n] = words[2] ~ /^(Excludes:|Needs:|REQUIRED|\()/ ? "" : words[2]
  choices[n] = ""
  if (match(head, /\{[^}]*\}/)) {
    choices[n] = substr(head, RSTART + 1, RLENGTH - 2)
    gsub(/,/, " ", choices[n])
  }
  sub(/:.*/, "", type[n])
  text[n] = help
  open_option = n
  next
}
# The description of flags that fill the column is on the next line; further lines continue it and are left out.
/^ +[^ ]/ && open_option && text[open_option] == "" {
  line = $0
  sub(/^ +/, "", line)
  text[open_option] = line
  next
}
/^[^ ]/ || /^$/ { open_option = 0 }

function is_file(name) {
  return name ~ /(^|\|)(FILE|PATH)(\||$)/
}

function quoted(words) {
  gsub(/'/, "'\\''", words)
  return "'" words "'"
}

function bash(   i, all, patterns) {
  print "# bash completion of " tool ", made from its --help"
  print "_apsyn_" symbol "() {"
  print "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}"
  print "  if [ \"$current\" = = ]; then"
  print "    current="
  print "  elif [ \"$previous\" = = ]; then"
  print "    previous=${COMP_WORDS[COMP_CWORD - 2]}"
  print "  fi"
  print "  COMPREPLY=()"
  print "  case $previous in"
  for (i = 1; i <= n; i++) {
    all = all (i > 1 ? " " : "") flags[i]
    patterns = flags[i]
    gsub(/ /, " | ", patterns)
    if (choices[i] != "")
      print "    " patterns ") mapfile -t COMPREPLY < <(compgen -W " quoted(choices[i]) " -- \"$current\") && return ;;"
    else if (is_file(type[i]))
      print "    " patterns ") mapfile -t COMPREPLY < <(compgen -f -- \"$current\") && return ;;"
    else if (type[i] != "")
      print "    " patterns ") return ;;"
  }
  print "  esac"
  print "  if [[ $current == -* ]]; then"
  print "    mapfile -t COMPREPLY < <(compgen -W " quoted(all) " -- \"$current\")"
  if (has_inputs) {
    print "  else"
    print "    mapfile -t COMPREPLY < <(compgen -f -- \"$current\")"
  }
  print "  fi"
  print "}"
  print "complete -o filenames -F _apsyn_" symbol " " tool
}

function zsh(   i, j, m, list, spec, help) {
  print "#compdef " tool
  print "# made from the --help of " tool
  print "_arguments -S \\"
  for (i = 1; i <= n; i++) {
    m = split(flags[i], list, " ")
    help = text[i]
    gsub(/[\[\]\\:]/, "\\\\&", help)
    for (j = 1; j <= m; j++) {
      spec = (m > 1 ? "(" flags[i] ")" : "") list[j]
      if (type[i] != "" && substr(list[j], 1, 2) == "--") spec = spec "="
      spec = spec "[" help "]"
      if (choices[i] != "")
        spec = spec ":" type[i] ":(" choices[i] ")"
      else if (type[i] != "")
        spec = spec ":" type[i] ":" (is_file(type[i]) ? "_files" : " ")
      print "  " quoted(spec) " \\"
    }
  }
  print "  " (has_inputs ? "'*:input:_files'" : "'*: : '")
}

function fish(   i, j, m, list, line, help) {
  print "# fish completion of " tool ", made from its --help"
  if (!has_inputs) print "complete -c " tool " -f"
  for (i = 1; i <= n; i++) {
    line = "complete -c " tool
    m = split(flags[i], list, " ")
    for (j = 1; j <= m; j++)
      line = line (substr(list[j], 1, 2) == "--" ? " -l " substr(list[j], 3) : " -s " substr(list[j], 2))
    if (choices[i] != "")
      line = line " -x -a '" choices[i] "'"
    else if (type[i] != "")
      line = line (is_file(type[i]) ? " -r -F" : " -x")
    help = text[i]
    gsub(/[\\']/, "\\\\&", help)
    print line " -d '" help "'"
  }
}

END {
  symbol = tool
  gsub(/[^a-zA-Z0-9]/, "_", symbol)
  if (n == 0) {
    print "completions.awk: no options in the --help of " tool > "/dev/stderr"
    exit 1
  }
  if (shell == "bash") bash()
  else if (shell == "zsh") zsh()
  else fish()
}
