// SPDX-License-Identifier: GPL-3.0-or-later
// The main program of the tests of a folder cuda/. Without a GPU it ends with status 77, which CTest reports
// as skipped; Boost.Test would count a program without a test as passed.
#define BOOST_TEST_MODULE apsyn
#include <boost/test/unit_test.hpp>
#include <cstdlib>

#include "libcore/system/device.h"

namespace {

struct NeedsGpu {
  NeedsGpu() {
    if (apsyn::cuda_device_count() == 0) std::exit(77);
  }
};

BOOST_TEST_GLOBAL_FIXTURE(NeedsGpu);

}  // namespace
