// SPDX-License-Identifier: GPL-3.0-or-later
// What the X stage's kernels for Hopper share: the ring of stages that bulk copies fill, and sums in
// registers. For sm_90a only.
#pragma once

#include "kernels/correlate/x_stage_kernels.cuh"
#include "kernels/correlate/x_stage_ptx.cuh"

namespace apsyn::x_stage {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// wgmma wants to know that a warp's number is the same in all its lanes.
__device__ __forceinline__ int uniform(int value) {
  return __shfl_sync(~0u, value, 0);
}

/// The 128-byte swizzle repeats every 1024 B: where tiles start.
__device__ __forceinline__ std::uint8_t* aligned_tiles(std::uint8_t* shared) {
  return reinterpret_cast<std::uint8_t*>((reinterpret_cast<std::uintptr_t>(shared) + 1023) &
                                         ~std::uintptr_t(1023));
}

template <int kCount>
struct Ring {
  int stage = 0;
  std::uint32_t phase = 0;
  __device__ void advance() {
    if (++stage == kCount) {
      stage = 0;
      phase ^= 1;
    }
  }
};

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

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace apsyn::x_stage
