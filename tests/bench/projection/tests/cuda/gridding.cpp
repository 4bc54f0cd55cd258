// SPDX-License-Identifier: GPL-3.0-or-later
// The tests of tests/bench/projection/tests/gridding.cpp on a GPU.
#include "tests/bench/projection/tests/gridding.cpp"
