// SPDX-License-Identifier: GPL-3.0-or-later
// Search values and heights of pixels, in device code; the operations of cpu/tile_ops.cpp in their order.
#pragma once

#include "kernels/clean/cuda/kernels.cuh"

namespace apsyn::clean_cuda {

__device__ __forceinline__ float search_value(const SearchPlanes& p, std::size_t pixel) {
  float sum = 0;
  const float* value_at = p.values + pixel;
#pragma unroll 1
  for (int g = 0; g < p.n_group; ++g) {
    float value = *value_at;
    value_at += p.stride;
    if (p.n_pol > 1) {
      value *= value;
      for (int pol = 1; pol < p.n_pol; ++pol, value_at += p.stride) value = fmaf(*value_at, *value_at, value);
      value = sqrtf(value);
    }
    sum = fmaf(value, __ldg(p.group_weight + g), sum);
  }
  return sum;
}

/// |value| or the positive value, times the pixel's weight; 0 when there is none.
__device__ __forceinline__ float height_at(const SearchPlanes& p, std::size_t pixel, float value) {
  if (p.search_weight != nullptr) value *= __ldg(p.search_weight + pixel);
  return p.positive ? fmaxf(value, 0.0f) : fabsf(value);
}

__device__ __forceinline__ PeakKey peak_key(float height, std::uint32_t index) {
  return height > 0 ? PeakKey(__float_as_uint(height)) << 32 | (0xffffffffu - index) : 0;
}

__device__ __forceinline__ PeakKey larger(PeakKey a, PeakKey b) {
  return a > b ? a : b;
}

}  // namespace apsyn::clean_cuda
