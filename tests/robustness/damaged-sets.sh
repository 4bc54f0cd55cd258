#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Gives tools sets with damaged tables: tests/robustness/damaged-sets.sh [SEEDS [FIRST]], 500 from 1 on by default. They read them or
# say what is wrong with status 3; they neither crash nor hang, and what only looks at a set does not change it.
# tests/robustness/run.sh sets what it needs.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/robustness/damage.sh" || exit 1
printf 'Format = Name, Type, Ra, Dec, I\na, POINT, 01:37:41, 33.09.35, 1\n' >sky.txt
refused=0
for ((seed = ${2:-1}; seed < ${2:-1} + ${1:-500}; ++seed)); do
  damage $seed
  rm -rf before.ms && cp -r bad.ms before.ms
  for command in "idg-grid -q --size 32 --scale 60asec --overwrite -o out bad.ms" \
    "clean -q --size 32 --scale 60asec --niter 2 --beam-size 3amin --overwrite -o out bad.ms" "quicklook -q --stats bad.ms"; do
    TIME_LIMIT=30 expect_exit "0|1|3" $command
    [ -s "$(stderr_file)" ] && refused=$((refused + 1))
  done
  diff -r --exclude table.lock before.ms bad.ms >&2 || fail "seed $seed: a set was changed by looking at it"
  TIME_LIMIT=30 expect_exit "0|1|3" idg-degrid -q --sky sky.txt bad.ms
  [ ! -s "$STATE/failures" ] || { fail "at seed $seed" && break; }
done
echo "${1:-500} damaged sets, three tools each: $refused complaints"
