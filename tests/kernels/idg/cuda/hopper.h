// SPDX-License-Identifier: GPL-3.0-or-later
// What tests of kernels ask of the first GPU, apart from the kernels' own choices.
#pragma once

#include "kernels/common/cuda/check.h"

namespace apsyn::support {

/// Its tensor cores take the gridder's sums, and a block of it has 227 KB of shared memory.
inline bool is_hopper() {
  cudaDeviceProp properties{};
  cuda_check(cudaGetDeviceProperties(&properties, 0), "asking for the device");
  return properties.major == 9;
}

}  // namespace apsyn::support
