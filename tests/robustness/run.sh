#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# tests/robustness/run.sh [BUILD] SCRIPT [ARGUMENTS...], from the top of the source: runs killed.sh or full-disk.sh with the tools
# of build/dev, or of another build folder. They take too long for every day; tests/cli/robustness.sh does a little of both.
build=build/dev
[ ! -d "$1" ] || { build=$1 && shift; }
APSYN_SOURCE=$PWD APSYN_BUILD=$PWD/$build APSYN_BIN=$PWD/$build/bin exec bash "tests/robustness/$1" "${@:2}"
