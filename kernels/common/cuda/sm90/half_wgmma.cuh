// SPDX-License-Identifier: GPL-3.0-or-later
// Products of halves and of 8-bit floats by wgmma. For sm_90a only.
#pragma once

#include "kernels/common/cuda/sm90/barriers.cuh"

namespace apsyn::ptx {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

#define APSYN_F8(d, o)                                                                        \
  "+f"(d[o]), "+f"(d[o + 1]), "+f"(d[o + 2]), "+f"(d[o + 3]), "+f"(d[o + 4]), "+f"(d[o + 5]), \
      "+f"(d[o + 6]), "+f"(d[o + 7])

/// d = kOld d + kSign A B^T: A 64 x 16 of halves from registers, B 64 x 16 from shared memory.
template <int kOld, int kSign>
__device__ __forceinline__ void wgmma_f16(float (&d)[32], const std::uint32_t (&a)[4], std::uint64_t b) {
  asm volatile(
      "{\n.reg .pred old;\nsetp.ne.b32 old, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%"
      "27,"
      "%28,%29,%30,%31}, {%32,%33,%34,%35}, %36, old, %38, 1, 0;\n}"
      : APSYN_F8(d, 0), APSYN_F8(d, 8), APSYN_F8(d, 16), APSYN_F8(d, 24)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(kOld), "n"(kSign));
}
/// The same of e4m3: A 64 x 32, B 64 x 32.
template <int kOld, int kSign>
__device__ __forceinline__ void wgmma_f8(float (&d)[32], const std::uint32_t (&a)[4], std::uint64_t b) {
  asm volatile(
      "{\n.reg .pred old;\nsetp.ne.b32 old, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%"
      "27,"
      "%28,%29,%30,%31}, {%32,%33,%34,%35}, %36, old, %38, 1;\n}"
      : APSYN_F8(d, 0), APSYN_F8(d, 8), APSYN_F8(d, 16), APSYN_F8(d, 24)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(kOld), "n"(kSign));
}
/// Four halves as e4m3, the first in the lowest byte.
__device__ __forceinline__ std::uint32_t eight_bits_of(std::uint32_t low, std::uint32_t high) {
  std::uint32_t bytes;
  asm("{\n.reg .b16 l, h;\ncvt.rn.satfinite.e4m3x2.f16x2 l, %1;\ncvt.rn.satfinite.e4m3x2.f16x2 h, %2;\n"
      "mov.b32 %0, {l, h};\n}"
      : "=r"(bytes)
      : "r"(low), "r"(high));
  return bytes;
}
#undef APSYN_F8

/// To the second-level cache; a multiple of 16 bytes.
__device__ __forceinline__ void bulk_prefetch(const void* source, std::uint32_t bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(source), "r"(bytes) : "memory");
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace apsyn::ptx
