# SPDX-License-Identifier: GPL-3.0-or-later
# Every tool killed and interrupted: its outputs are complete or absent, and the exit status says which. One moment each of
# those that tests/robustness/killed.sh goes through.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/robustness/jobs.sh" || exit 1
RANDOM=20240101 # the same moments each time
make_inputs
mapfile -t names < <(printf '%s\n' "${!job[@]}" | sort)
run_whole "${names[@]}"

for name in "${names[@]}"; do
  kill_at_random "$name" 1
  begin try "$name"
  stop_at_random INT "$name"
  expect_whole_or_absent "$name"
  expect_no_part "$name"
  # before its first line a program is killed by the signal all the same
  case $status in 0 | 130) ;; *) fail "$name: exit status $status when interrupted" ;; esac
done
