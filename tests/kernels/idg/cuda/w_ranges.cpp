// SPDX-License-Identifier: GPL-3.0-or-later
// The tests of tests/kernels/idg/w_ranges.cpp on a GPU.
#define APSYN_TEST_CUDA
#include "tests/kernels/idg/w_ranges.cpp"

using apsyn::reference::NeedsGpu;
BOOST_TEST_GLOBAL_FIXTURE(NeedsGpu);
