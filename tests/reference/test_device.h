// SPDX-License-Identifier: GPL-3.0-or-later
// The device that a test body runs on: the CPU, or the first GPU where APSYN_TEST_CUDA is defined before the
// inclusion.
#pragma once

#include <cstdlib>

#include "libcore/system/device.h"

namespace apsyn::reference {

#ifdef APSYN_TEST_CUDA
inline Device test_device() {
  return {Device::Kind::cuda, 0, "cuda:0"};
}
#else
inline Device test_device() {
  return {};
}
#endif

/// Boost.Test counts a program without a test as passed; CTest is told by status 77 instead. A global
/// fixture.
struct NeedsGpu {
  NeedsGpu() {
    if (cuda_device_count() == 0) std::exit(77);
  }
};

}  // namespace apsyn::reference
