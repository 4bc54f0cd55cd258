// SPDX-License-Identifier: GPL-3.0-or-later
// What kernels that detect have in common.
#pragma once

#include "kernels/beamform/cuda/stage.cuh"

namespace apsyn::beam_stage {

/// a b*
__device__ __forceinline__ float2 conjugate_product(float2 a, float2 b) {
  return make_float2(a.x * b.x + a.y * b.y, a.y * b.x - a.x * b.y);
}

/// A warp's 32 spectra from `first` of a section on, one in each lane, go to their segments of 1, 8 or 32.
/// Values of lanes that are not valid are 0.
__device__ __forceinline__ void store_products(const Products& products, const Batch& batch, int row,
                                               int beam, int first, int lane, bool valid,
                                               const float (&values)[4]) {
  const int segment = products.segment, at = (first + lane) / segment;
  const auto sum_of = [&](float value) {
    for (int other = 1; other < segment; other *= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
  };
  const bool stores = lane % segment == 0;
  float* to = products.values + row * products.row_stride + beam * products.beam_stride + at;
#pragma unroll
  for (int value = 0; value < 4; ++value) {
    if (value >= products.n_value) continue;
    const float sum = sum_of(values[value]);
    if (stores) to[value * products.value_stride] = sum;
  }
  const float count = sum_of(valid ? 1.0f : 0.0f);
  if (stores)
    products.counts[(std::size_t(row) * batch.n_beam + beam) * (batch.sections.stride / segment) + at] =
        count;
}

}  // namespace apsyn::beam_stage
