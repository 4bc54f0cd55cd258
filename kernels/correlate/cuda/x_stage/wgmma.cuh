// SPDX-License-Identifier: GPL-3.0-or-later
// Common parts of the X stage's kernels for Hopper: the ring of stages that bulk copies fill, and sums in
// registers. For sm_90a only.
#pragma once

#include "kernels/common/cuda/sm90/bulk_copy.cuh"
#include "kernels/common/cuda/sm90/warpgroups.cuh"
#include "kernels/common/cuda/sm90/wgmma.cuh"
#include "kernels/correlate/cuda/x_stage/kernels.cuh"

namespace apsyn::x_stage {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/// A lane's accumulators and the cells of a tile that they stand for: rows row and row + 8, columns in pairs.
template <int kColumns>
struct Accumulators {
  static constexpr int kSize = kColumns / 2;
  int re[kSize], im[kSize];

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < kSize; ++i) re[i] = im[i] = 0;
  }
  /// Calls visit(row, column, i): the cells (row, column) and (row, column + 1) of the tile belong to
  /// re[i], im[i], re[i + 1], im[i + 1].
  template <class Visit>
  __device__ static void for_each(int row, int lane, Visit visit) {
#pragma unroll
    for (int j = 0; j < kColumns / 8; ++j) {
      const int column = (lane & 3) * 2 + 8 * j;
      visit(row, column, 4 * j);
      visit(row + 8, column, 4 * j + 2);
    }
  }
};

/// Adds the four int8 in each of four words.
__device__ __forceinline__ int add_bytes(int4 v, int sum) {
  sum = __dp4a(v.x, 0x01010101, sum);
  sum = __dp4a(v.y, 0x01010101, sum);
  sum = __dp4a(v.z, 0x01010101, sum);
  return __dp4a(v.w, 0x01010101, sum);
}

/// Writes the 8-bit row at `to` from the 4-bit one at `from`, both of input `row` of a tile: [16 re | 16 im].
/// Adds its imaginary parts to `sum`. All loads come before all stores, which would otherwise wait for one
/// another.
__device__ __forceinline__ int unpack_row(std::uint32_t from, std::uint32_t to, int row, int sum) {
  int4 packed[4];
#pragma unroll
  for (int chunk = 0; chunk < 4; ++chunk)
    packed[chunk] = ptx::load_shared(from + ((chunk ^ (row >> 1 & 3)) << 4));
  constexpr int kHigh = static_cast<int>(0xF0F0F0F0u);
#pragma unroll
  for (int chunk = 0; chunk < 4; ++chunk) {
    const int4 p = packed[chunk];
    const int4 im = make_int4(p.x << 4 & kHigh, p.y << 4 & kHigh, p.z << 4 & kHigh, p.w << 4 & kHigh);
    ptx::store_shared(to + ((chunk ^ (row & 7)) << 4),
                      make_int4(p.x & kHigh, p.y & kHigh, p.z & kHigh, p.w & kHigh));
    ptx::store_shared(to + ((4 + chunk ^ (row & 7)) << 4), im);
    sum = add_bytes(im, sum);
  }
  return sum;
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace apsyn::x_stage
