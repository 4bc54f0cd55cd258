# SPDX-License-Identifier: GPL-3.0-or-later
# The jobs of jobs.sh, each in surroundings that cron, batch systems and shells can give a program: sourced after
# jobs.sh, or run as tests/robustness/run.sh surroundings.sh [ROUNDS [SEED [JOB...]]] (500 rounds take hours). Closed
# standard descriptors, no HOME, no threads, few files, small stacks, other umasks, and every signal that asks a program
# to end.
surroundings=(closed-0 closed-1 closed-2 closed-01 closed-02 closed-12 closed-012 no-home empty-home no-tmpdir no-threads files-12
  files-32 stack-64 stack-128 umask-077 umask-000)
end_signals=(INT TERM HUP QUIT USR1 USR2 XCPU ALRM)

# as_nobody COMMAND...: limits of processes do not hold for root, so that root becomes somebody else.
as_nobody() {
  if [ "$(id -u)" = 0 ]; then
    exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
  else
    exec "$@"
  fi
}

# in_surroundings NAME COMMAND...: replaces the shell by the command.
in_surroundings() {
  local name=$1
  shift
  case $name in
    closed-*)
      case $name in *0*) exec 0<&- ;; esac
      case $name in *1*) exec 1>&- ;; esac
      case $name in *2*) exec 2>&- ;; esac
      exec "$@"
      ;;
    no-home) exec env -u HOME "$@" ;;
    empty-home) HOME='' exec "$@" ;;
    no-tmpdir) exec env -u TMPDIR "$@" ;;
    no-threads) as_nobody prlimit --nproc=0 "$@" ;;
    files-*) exec prlimit --nofile="${name#*-}" "$@" ;;
    stack-*) exec prlimit --stack=$((${name#*-} * 1024)) "$@" ;;
    umask-*) umask "${name#*-}" && exec "$@" ;;
  esac
}

# try_surroundings NAME JOB: what ends with 0 has made the whole output, and what does not has made none.
try_surroundings() {
  local status
  begin try "$2"
  # Whoever the command runs as must be let in.
  [ "$1" != no-threads ] || chmod -R a+rwX .
  # With -v there is something to say, which must not end up in a file.
  (cd try && in_surroundings "$1" ${job[$2]/ -q / -v }) >said.txt 2>&1 </dev/null
  status=$?
  case "$1:$status" in
    closed-*1*:1)
      # What it says of the fold on standard output is lost, and with it the rest.
      [ "$2" = fold-pulsar ] || fail "$2 in $1: exit status $status: $(head -c 300 said.txt)"
      ! compgen -G 'try/out*' >/dev/null || fail "$2 in $1: failed, and left $(echo try/out*)"
      ;;
    no-threads:1 | files-*:1)
      [ "$(grep -c ': error: ' said.txt)" = 1 ] || fail "$2 in $1: no reason is given: $(head -c 300 said.txt)"
      grep -qE ': error: .*(no thread can be started.*ulimit -u|Too many open files.*ulimit -n)' said.txt ||
        fail "$2 in $1: another reason is given: $(head -c 300 said.txt)"
      in_place "$2" || ! compgen -G 'try/out*' >/dev/null || fail "$2 in $1: failed, and left $(echo try/out*)"
      ;;
    closed-*1*:0) [ "$2" != fold-pulsar ] || fail "$2 in $1: ended with 0, and its output was lost" ;;&
    files-12:0 | files-32:0 | [!nf]*:0 | no-home:0 | no-tmpdir:0)
      local path
      for path in "whole-$2"/out*; do
        path=try/${path#*/}
        [ -e "$path" ] || fail "$2 in $1: ended with 0 without $path"
        case "$1:$2" in
          *:idg-degrid | *:calibrate-apply) ;;
          umask-077:*) [ -z "$(find "$path" -perm /077)" ] || fail "$2 in $1: others can use $path" ;;
          umask-000:*) [ -z "$(find "$path" ! -perm -666 ! -name table.lock)" ] || fail "$2 in $1: others cannot use $path" ;;
        esac
      done
      ;;
    *) fail "$2 in $1: exit status $status: $(head -c 300 said.txt)" ;;
  esac
  expect_whole_or_absent "$2"
  expect_no_part "$2"
}

# try_signal SIGNAL JOB
try_signal() {
  begin try "$2"
  stop_at_random "$1" "$2"
  expect_whole_or_absent "$2"
  expect_no_part "$2"
  case $status in 0 | $((128 + $(kill -l "$1")))) ;; *) fail "$2: exit status $status after SIG$1" ;; esac
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
  source "$APSYN_SOURCE/tests/robustness/jobs.sh" || exit 1
  rounds=${1:-500}
  RANDOM=${2:-1}
  shift $(($# < 2 ? $# : 2))
  make_inputs
  [ $# -gt 0 ] || set -- $(printf '%s\n' "${!job[@]}" | sort)
  run_whole "$@"
  for name in "$@"; do
    for ((i = 0; i < rounds; ++i)); do
      try_surroundings "${surroundings[i % ${#surroundings[@]}]}" "$name"
      try_signal "${end_signals[i % ${#end_signals[@]}]}" "$name"
    done
    echo "$name: $rounds surroundings and as many signals"
  done
fi
