#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Fuzzes every parser for so many seconds each: tests/fuzz/run.sh [SECONDS [TARGET...]], from the top of the source after
#   cmake --preset fuzz && cmake --build --preset fuzz
# What is found stays in build/fuzz/found/TARGET; minimised (-minimize_crash=1) it belongs into tests/fuzz/cases/TARGET.
seconds=${1:-60}
shift
cases=tests/fuzz/cases found=build/fuzz/found status=0
[ $# -gt 0 ] || set -- $(ls $cases)
for target in "$@"; do
  mkdir -p $found/$target/corpus
  APSYN_FUZZ_TARGET=$target build/fuzz/tests/fuzz-parsers -max_total_time=$seconds -timeout=5 -rss_limit_mb=1024 \
    -max_len=32768 -artifact_prefix=$found/$target/ -print_final_stats=1 -verbosity=0 \
    $found/$target/corpus $cases/$target || { echo "$target: see $found/$target" >&2; status=1; }
done
exit $status
