// SPDX-License-Identifier: GPL-3.0-or-later
// The tests of tests/kernels/idg/gridding.cpp on a GPU.
#define APSYN_TEST_CUDA
#include "tests/kernels/idg/gridding.cpp"

BOOST_TEST_GLOBAL_FIXTURE(NeedsGpu);
