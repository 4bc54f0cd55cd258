// SPDX-License-Identifier: GPL-3.0-or-later
// Pairs in lists and batches, for kernels.
#pragma once

#include <cuda_fp16.h>

#include "kernels/epic/corr/cuda/grid.cuh"

namespace apsyn::epic_cuda {

/// A pair of a channel, whether it stands there as (b, a), and how many orders it has; of none, all is 0.
struct PairCode {
  std::uint32_t bits;
  __host__ __device__ static PairCode of(std::uint32_t pair, bool mirrored, int n_order) {
    return {(mirrored ? 0x80000000u : 0u) | static_cast<std::uint32_t>(n_order) << 24 | pair};
  }
  __host__ __device__ std::uint32_t pair() const { return bits & 0xFFFFFFu; }
  __host__ __device__ std::uint32_t sign() const { return bits & 0x80000000u; }
  __host__ __device__ int n_order() const { return static_cast<int>(bits >> 24 & 127); }
};

/// Of 0 .. 2 n - 1.
__device__ __forceinline__ int wrapped(int cell, int n) {
  return cell >= n ? cell - n : cell;
}
/// First cell of (b, a), whose kernel is turned over.
__device__ __forceinline__ int mirrored_cell(int first, int width, int n) {
  return wrapped(2 * n - first - width + 1, n);
}

/// Calls to(strip, row pair, mirrored) once for each list of a group that a pair is in as (a, b), and as
/// (b, a).
template <class To>
__device__ __forceinline__ void for_each_strip(const CellShape& shape, const PairPlace& place, const To& to) {
  if (place.n_order == 0) return;
  for (const bool mirrored : {false, true}) {
    const int x = mirrored ? mirrored_cell(place.x, shape.width, shape.n_x) : place.x;
    const int y = mirrored ? mirrored_cell(place.y, shape.width, shape.n_y) : place.y;
    int last = -1;
    for (int i = 0; i < shape.width; ++i) {
      const int column = wrapped(x + i, shape.n_x);
      if (column >= shape.n_column || column / kStripColumns == last) continue;
      last = column / kStripColumns;
      to(last, y / 2, mirrored);
    }
  }
}

/// (-i)^order times the sum.
__device__ __forceinline__ float2 turned(float re, float im, int order) {
  switch (order % 4) {
    case 0:
      return make_float2(re, im);
    case 1:
      return make_float2(im, -re);
    case 2:
      return make_float2(-re, -im);
    default:
      return make_float2(-im, re);
  }
}

/// Two numbers in 22 bits each: high + low.
struct Halves {
  __half2 high, low;
  __device__ __forceinline__ static Halves of(float first, float second) {
    const __half2 high = __floats2half2_rn(first, second);
    const float2 back = __half22float2(high);
    return {high, __floats2half2_rn(first - back.x, second - back.y)};
  }
  /// But for low low; what `high` leaves of high high is exact.
  __device__ __forceinline__ Halves operator*(const Halves& by) const {
    const __half2 product = __hmul2(high, by.high);
    const __half2 rest = __hfma2(high, by.high, __hneg2(product));
    return {product, __hfma2(low, by.high, __hfma2(high, by.low, rest))};
  }
};

}  // namespace apsyn::epic_cuda
