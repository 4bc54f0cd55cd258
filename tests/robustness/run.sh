#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# tests/robustness/run.sh [BUILD] SCRIPT [ARGUMENTS...]: runs a script of this folder with the tools of build/dev,
# or of another build folder. They take too long for every day; tests/cli/robustness/ does a
# little of them.
source=$(realpath "$(dirname "$0")/../..")
build=$source/build/dev
[ ! -d "${1:-}" ] || { build=$(realpath "$1") && shift; }
if [ ! -f "$source/tests/robustness/${1:-run.sh}" ] || [ "${1:-run.sh}" = run.sh ]; then
  echo "usage: tests/robustness/run.sh [BUILD] SCRIPT [ARGUMENTS...]" >&2
  exit 2
fi
cd "$source" || exit 1
APSYN_SOURCE=$source APSYN_BUILD=$build APSYN_BIN=$build/bin exec bash "tests/robustness/$1" "${@:2}"
