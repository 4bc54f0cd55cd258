#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Kills tools at random moments: tests/robustness/killed.sh [MOMENTS [SEED [JOB...]]], of all jobs of jobs.sh by default, with
# 500 moments each (an hour or so). An output is complete or absent then, and another run gives the same bytes.
# tests/robustness/run.sh sets what it needs.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/robustness/jobs.sh" || exit 1
moments=${1:-500}
RANDOM=${2:-1}
shift $(($# < 2 ? $# : 2))
make_inputs
[ $# -gt 0 ] || set -- $(printf '%s\n' "${!job[@]}" | sort)
run_whole "$@"
for name in "$@"; do
  kill_at_random "$name" "$moments"
  echo "$name: killed at $moments moments of ${took_ms[$name]} ms"
done
