// SPDX-License-Identifier: GPL-3.0-or-later
// Passes of transforms that a kernel is compiled for, so that the distances between its values are constants.
#pragma once

#include "kernels/epic/corr/cuda/transform_passes.cuh"

namespace apsyn::epic_cuda {

/// From the first to the last; none: those that a plan has, whatever they are.
template <int... kRadices>
struct Passes {
  static constexpr int kLength = sizeof...(kRadices) == 0 ? 0 : (1 * ... * kRadices);
  static bool are(int n_pass, const TransformPass* passes) {
    constexpr int kNumber = sizeof...(kRadices), of[] = {kRadices..., 0};
    bool same = n_pass == kNumber;
    for (int i = 0; same && i < kNumber; ++i) same = passes[i].radix == of[i];
    return same;
  }
};
/// Of the lengths that large images of the MWA have: 1200 pixels along rows and columns, and lattices.
using Passes1536 = Passes<16, 12, 8>;
using Passes1728 = Passes<12, 12, 12>;

#ifdef __CUDACC__
/// Where the butterflies of a pass are; kPart, where it is known, is TransformPass::part.
template <int kRadix, int kPart>
struct PassAt {
  const TransformPass& pass;
  __device__ __forceinline__ int span() const {
    return kPart > 0 ? kPart / kRadix : static_cast<int>(pass.span.divisor);
  }
  __device__ __forceinline__ int part() const { return kPart > 0 ? kPart : pass.part; }
  /// Of an item; the rest is its k.
  __device__ __forceinline__ int part_of(int& item) const {
    if constexpr (kPart > 0) {
      const int which = item / (kPart / kRadix);
      item %= kPart / kRadix;
      return which;
    } else {
      return divide(item, pass.span);
    }
  }
  __device__ __forceinline__ void turn(const float2* turns, int k, float2* x) const {
    const float2* by = turns + pass.turns + k;
#pragma unroll
    for (int q = 1; q < kRadix; ++q) x[q] = radix::multiply(x[q], __ldg(by + (q - 1) * span()));
  }
};
#endif

}  // namespace apsyn::epic_cuda
