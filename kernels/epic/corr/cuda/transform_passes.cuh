// SPDX-License-Identifier: GPL-3.0-or-later
// Transforms of any length of small factors, in place in a block's shared memory, pass after pass.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstdint>

#include "kernels/common/cuda/divider.cuh"
#ifdef __CUDACC__
#include "kernels/common/cuda/radix_composite.cuh"
#endif

namespace apsyn::epic_cuda {

constexpr int kMaxTransformPasses = 4;
/// Of what a transform makes, and nobody wants.
constexpr std::uint16_t kNotWanted = 0xFFFF;
constexpr std::array kTransformRadices{16, 12, 8, 5, 4, 3, 2};

/// Part p of `part` values takes butterflies k < part / radix of values p part + k + q part / radix.
struct TransformPass {
  int radix = 1, part = 1;
  int turns = 0;  ///< where exp(-2 pi i k q / part) are: [k][q - 1]
  Divider span;   ///< part / radix
};

#ifdef __CUDACC__
/// run<radix>() for the radix of a pass.
template <class Run>
__device__ __forceinline__ void with_pass_radix(int radix, const Run& run) {
  if (radix == 12) return run.template operator()<12>();
  radix::with_radix<16>(radix, run);
}
#endif

}  // namespace apsyn::epic_cuda
