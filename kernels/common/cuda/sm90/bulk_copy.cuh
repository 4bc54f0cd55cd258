// SPDX-License-Identifier: GPL-3.0-or-later
// Copies by the tensor memory accelerator (TMA): one thread starts them, and a barrier in shared memory
// counts the bytes that have come. For sm_90a only.
#pragma once

#include "kernels/common/cuda/sm90/mbarrier.cuh"

namespace apsyn::ptx {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/// A multiple of 16 bytes.
__device__ __forceinline__ void bulk_copy(std::uint32_t destination, const void* source, std::uint32_t bytes,
                                          std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          destination),
      "l"(source), "r"(bytes), "r"(barrier)
      : "memory");
}

/// The box at (x, y, z) of a tensor map; 0 outside of the tensor.
__device__ __forceinline__ void tensor_copy(std::uint32_t destination, const void* map, int x, int y, int z,
                                            std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
      "[%5];" ::"r"(destination),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier)
      : "memory");
}

/// To the second-level cache; a multiple of 16 bytes.
__device__ __forceinline__ void bulk_prefetch(const void* source, std::uint32_t bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(source), "r"(bytes) : "memory");
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace apsyn::ptx
