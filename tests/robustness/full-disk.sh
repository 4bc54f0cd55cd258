#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Fills the disk under tools: tests/robustness/full-disk.sh [CASES [JOB...]], of all jobs of jobs.sh by default, with 400 cases
# each. The disk is a tmpfs (in a name space of its own) whose free space is swept around the exact fit, a page at a time: half
# of the cases closely around it, the others from nothing to twice of it. A tool never ends with status 0 and an
# incomplete output, and leaves nothing half-written. tests/robustness/run.sh sets what it needs.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/robustness/jobs.sh" || exit 1
if [ -z "${APSYN_DISK:-}" ]; then
  unshare -rm true 2>/dev/null || skip "no name space of its own to mount a disk in"
  APSYN_DISK=1 unshare -rm bash "$APSYN_SOURCE/tests/robustness/full-disk.sh" "$@"
  exit
fi
cases=${1:-400} page=4096
shift $(($# < 1 ? $# : 1))
make_inputs
[ $# -gt 0 ] || set -- $(printf '%s\n' "${!job[@]}" | sort)
run_whole "$@"

# pages FOLDER: that its files take of a disk.
pages() { find "$1" -type f -printf '%s\n' | awk -v p=$page '{ n += int(($1 + p - 1) / p) } END { print n + 0 }'; }
mkdir try
mount -t tmpfs -o size=64m none try || skip "no tmpfs can be mounted"
trap 'status=$?; umount "$SCRATCH/try"; (exit $status); finish' EXIT
# resize SIZE: of the disk; without it a case would test nothing.
resize() { mount -o "remount,size=$1" try || fail "the disk cannot be made $1 large"; }
for name in "$@"; do
  resize 64m
  begin try "$name"
  fit=$(($(pages "whole-$name") - $(pages try)))
  went_well=0
  for ((i = 0; i < cases; ++i)); do
    if ((i % 2)); then free=$((fit + i / 2 - cases / 4)); else free=$((2 * fit * i / cases)); fi
    ((free >= 0)) || free=0
    resize 64m
    begin try "$name"
    head -c 1 /dev/zero >try/filler # a disk of size 0 would have no bounds
    resize $((($(pages try) + free) * page))
    (cd try && exec timeout 60 ${job[$name]} >/dev/null 2>"$STATE/stderr")
    case $? in
      0)
        went_well=$((went_well + 1))
        for path in "whole-$name"/out*; do expect_file "try/${path#"whole-$name"/}"; done
        ;;
      1) [ -s "$STATE/stderr" ] || fail "$name failed without a word, $free pages free" ;;
      *) fail "$name: exit status $?, $free pages free: $(tail -1 "$STATE/stderr")" ;;
    esac
    expect_whole_or_absent "$name"
    expect_no_part "$name"
  done
  ((went_well < cases)) || fail "$name: the disk was never full in $cases cases"
  echo "$name: $cases cases around $fit pages, $went_well went well"
done

# begin_again NAME: the job's folder with older outputs, which its --overwrite replaces.
begin_again() {
  local path
  begin try "$1"
  for path in "whole-$1"/out*; do
    path=try/${path#"whole-$1"/}
    echo older >"$path"
  done
}
# Several outputs are all new, or all as before.
for name in "$@"; do
  outputs=$(find "whole-$name" -mindepth 1 -maxdepth 1 -name 'out*' -type f | wc -l)
  case $name in epic-frames | idg-degrid | calibrate-apply) continue ;; esac # each of many images as it is made; a set in place
  ((outputs > 1)) || continue
  resize 64m
  begin_again "$name"
  fit=$(pages "whole-$name")
  went_well=0
  for ((i = 0; i < cases; ++i)); do
    if ((i % 2)); then free=$((fit + i / 2 - cases / 4)); else free=$((2 * fit * i / cases)); fi
    ((free >= 0)) || free=0
    resize 64m
    begin_again "$name"
    head -c 1 /dev/zero >try/filler
    resize $((($(pages try) + free) * page))
    (cd try && exec timeout 60 ${job[$name]} --overwrite >/dev/null 2>"$STATE/stderr")
    status=$?
    old=$(grep -lx older try/out* | wc -l)
    case $status:$old in
      0:0) went_well=$((went_well + 1)) && expect_whole_or_absent "$name" ;;
      1:$outputs) ;;
      *) fail "$name --overwrite: exit status $status, and $old of $outputs outputs are old, $free pages free" ;;
    esac
    expect_no_part "$name"
  done
  ((went_well < cases)) || fail "$name --overwrite: the disk was never full in $cases cases"
  echo "$name --overwrite: $cases cases around $fit pages, $went_well went well"
done
