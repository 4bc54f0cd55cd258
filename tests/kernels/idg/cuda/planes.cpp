// SPDX-License-Identifier: GPL-3.0-or-later
// The tests of tests/kernels/idg/planes.cpp on a GPU.
#include "tests/kernels/idg/planes.cpp"
