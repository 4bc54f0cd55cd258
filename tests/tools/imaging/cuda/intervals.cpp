// SPDX-License-Identifier: GPL-3.0-or-later
// The tests of tests/tools/imaging/intervals.cpp on a GPU, which keeps the visibilities.
#include "tests/tools/imaging/intervals.cpp"
