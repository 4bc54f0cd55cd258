// SPDX-License-Identifier: GPL-3.0-or-later
// Barriers in shared memory (mbarrier). A barrier is 8 bytes, named by its address there.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/sm90/shared_memory.cuh"

namespace apsyn::ptx {

/// `count`: arrivals that end a phase.
__device__ __forceinline__ void barrier_init(std::uint32_t barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count));
}
__device__ __forceinline__ void barrier_arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Waits until the phase of this parity is over.
__device__ __forceinline__ void barrier_wait(std::uint32_t barrier, std::uint32_t parity) {
#if __CUDA_ARCH__ >= 900
#define APSYN_WAIT "try_wait"  // sleeps for a while
#else
#define APSYN_WAIT "test_wait"
#endif
  asm volatile(
      "{\n.reg .pred done;\n"
      "again_%=:\nmbarrier." APSYN_WAIT
      ".parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra ready_%=;\nbra again_%=;\nready_%=:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
#undef APSYN_WAIT
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/// Makes barriers that a thread has initialised known to bulk copies.
__device__ __forceinline__ void barrier_fence_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
/// Arrives; the phase lasts until bulk copies have brought so many bytes, too.
__device__ __forceinline__ void barrier_expect(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
/// Shows a thread's stores to shared memory to wgmma and bulk copies behind a barrier after it.
__device__ __forceinline__ void async_proxy_fence() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace apsyn::ptx
