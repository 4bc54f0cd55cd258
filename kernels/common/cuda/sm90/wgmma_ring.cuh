// SPDX-License-Identifier: GPL-3.0-or-later
// The ring of stages in shared memory that bulk copies fill and wgmma empties. For sm_90a only.
#pragma once

#include <cstdint>

namespace apsyn {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// wgmma wants to know that a warp's number is the same in all its lanes.
__device__ __forceinline__ int uniform(int value) {
  return __shfl_sync(~0u, value, 0);
}

/// Of a value that is the same in all lanes, such that ptxas knows.
__device__ __forceinline__ std::uint32_t uniform_bits(std::uint32_t value) {
  asm volatile("redux.sync.max.u32 %0, %0, 0xffffffff;" : "+r"(value));
  return value;
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

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace apsyn
