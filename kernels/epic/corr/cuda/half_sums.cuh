// SPDX-License-Identifier: GPL-3.0-or-later
// What becomes of the products in corr/cuda/half.cu: sums over antennas, and of which pixels they are.
#pragma once

#include "kernels/epic/corr/cuda/half.cuh"

namespace apsyn::epic_cuda {

/// (channel, two tiles of pixels) of a block of threads, one after the other.
struct FormItem {
  int channel, tile;
  __device__ FormItem(const HalfLayout& layout, int index)
      : channel(index / (layout.n_tiles() / 2)), tile(index % (layout.n_tiles() / 2) * 2) {}
};
__device__ __forceinline__ int n_items(const HalfLayout& layout) {
  return layout.n_channel * layout.n_tiles() / 2;
}
__device__ __forceinline__ const char* weights_of(const HalfFormTask& task, int channel, int tile) {
  return static_cast<const char*>(task.weights) +
         (std::size_t(channel) * task.layout.n_tiles() + tile) * task.layout.tile_bytes();
}

__device__ __forceinline__ float2 floats(std::uint32_t halves) {
  return __half22float2(*reinterpret_cast<const __half2*>(&halves));
}

/// A lane's sums over antennas of rows r and r + 8, real and imaginary.
struct FormSums {
  float re[2] = {}, im[2] = {};

  /// += w z of two neighbouring antennas of a row
  __device__ __forceinline__ void add(int row, float2 c, float2 s, const float* zr, const float* zi) {
    re[row] = fmaf(c.x, zr[0], fmaf(-s.x, zi[0], re[row]));
    re[row] = fmaf(c.y, zr[1], fmaf(-s.y, zi[1], re[row]));
    im[row] = fmaf(c.x, zi[0], fmaf(s.x, zr[0], im[row]));
    im[row] = fmaf(c.y, zi[1], fmaf(s.y, zr[1], im[row]));
  }
};

/// Adds sums, times factors, to XX and YY (form 0) or to XY (form 1).
__device__ __forceinline__ void store_form(const HalfFormTask& task, const FormItem& item, int tile, int form,
                                           double re_factor, double im_factor, const FormSums& sums) {
  const int lane = threadIdx.x % 32, quarter = lane % 4, warp = threadIdx.x / 32 % 4;
  float of[4] = {sums.re[0], sums.im[0], sums.re[1], sums.im[1]};
#pragma unroll
  for (float& value : of) {
    value += __shfl_xor_sync(~0u, value, 1);
    value += __shfl_xor_sync(~0u, value, 2);
  }
  const float mine = quarter < 2 ? (quarter == 0 ? of[0] : of[1]) : (quarter == 2 ? of[2] : of[3]);
  const int pixel = tile * kFormPixels + warp * 16 + lane / 4 + quarter / 2 * 8;
  const double factor = (quarter % 2 == 0 ? re_factor : im_factor) * task.unit[item.channel];
  if (pixel < task.layout.n_pixel)
    task.sums[(item.channel * task.n_stride + pixel) * 4 + 2 * form + quarter % 2] +=
        static_cast<double>(mine) * factor;
}

}  // namespace apsyn::epic_cuda
