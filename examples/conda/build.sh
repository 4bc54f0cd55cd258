#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The build of recipe.yaml: the README's commands, into the package's prefix.
set -euo pipefail
cmake --preset dev -DAPSYN_TESTS=OFF -DCMAKE_PREFIX_PATH="$PREFIX" -DCMAKE_INSTALL_PREFIX="$PREFIX"
cmake --build --preset dev
cmake --install build/dev
