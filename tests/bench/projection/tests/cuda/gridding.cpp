// SPDX-License-Identifier: GPL-3.0-or-later
// The tests of tests/bench/projection/tests/gridding.cpp on a GPU.
#define APSYN_TEST_CUDA
#include "tests/bench/projection/tests/gridding.cpp"

using apsyn::reference::NeedsGpu;
BOOST_TEST_GLOBAL_FIXTURE(NeedsGpu);
