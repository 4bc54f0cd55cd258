// SPDX-License-Identifier: GPL-3.0-or-later
// The device that a test body runs on: the CPU, or the first GPU in folders cuda/, where the build defines
// APSYN_TEST_CUDA.
#pragma once

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

}  // namespace apsyn::reference
