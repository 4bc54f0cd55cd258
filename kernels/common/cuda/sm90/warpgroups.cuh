// SPDX-License-Identifier: GPL-3.0-or-later
// What kernels of producer and consumer warpgroups share: the ring of stages in shared memory, numbers that
// are the same in a whole warp, registers handed from one warpgroup to another, launches that overlap. For
// sm_90a only.
#pragma once

#include <cstdint>

namespace apsyn {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/// A value that is the same in all lanes, such that ptxas knows: wgmma wants it of a warp's number.
__device__ __forceinline__ int uniform(int value) {
  return __shfl_sync(~0u, value, 0);
}
/// The same of 32 bits.
__device__ __forceinline__ std::uint32_t uniform_bits(std::uint32_t value) {
  asm volatile("redux.sync.max.u32 %0, %0, 0xffffffff;" : "+r"(value));
  return value;
}

/// The 128-byte swizzle repeats every 1024 B: where tiles start.
__device__ __forceinline__ std::uint8_t* aligned_tiles(std::uint8_t* shared) {
  return reinterpret_cast<std::uint8_t*>((reinterpret_cast<std::uintptr_t>(shared) + 1023) &
                                         ~std::uintptr_t(1023));
}

/// The stage that a producer fills or a consumer empties next, and the parity of its barriers' phase.
template <int kCount>
struct Ring {
  int stage = 0;
  std::uint32_t phase = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == kCount) {
      stage = 0;
      phase ^= 1;
    }
  }
};

namespace ptx {

/// Registers of a warpgroup's threads, given up or asked for.
template <int kRegisters>
__device__ __forceinline__ void fewer_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void more_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

/// Lets the next launch of the stream begin, as far as its own wait_for_launch_before().
__device__ __forceinline__ void let_next_launch_begin() {
  asm volatile("griddepcontrol.launch_dependents;");
}
/// Waits until all that the launch before has written can be read.
__device__ __forceinline__ void wait_for_launch_before() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

}  // namespace ptx

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace apsyn
