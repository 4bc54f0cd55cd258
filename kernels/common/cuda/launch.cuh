// SPDX-License-Identifier: GPL-3.0-or-later
// One-dimensional launches with a thread for each of n things.
#pragma once

#include <cstddef>

#include "kernels/common/cuda/check.h"

namespace apsyn {

constexpr int kThreads = 128;

inline unsigned blocks_of(std::size_t n_threads) {
  return static_cast<unsigned>((n_threads + kThreads - 1) / kThreads);
}
__device__ __forceinline__ std::size_t this_thread() {
  return std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
}
inline void launched(const char* what) {
  cuda_check(cudaGetLastError(), what);
}

}  // namespace apsyn
