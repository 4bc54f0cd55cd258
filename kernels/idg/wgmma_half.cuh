// SPDX-License-Identifier: GPL-3.0-or-later
// wgmma of float16 with A from registers, for sm_90a only.
#pragma once

#include <cstdint>

#include "kernels/common/sm90_ptx.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

namespace apsyn::ptx {

/// B in shared memory as groups of 8 columns `group_bytes` apart, each [k][8 columns] of 16 B.
__device__ __forceinline__ std::uint64_t half_descriptor(std::uint32_t address, std::uint32_t group_bytes) {
  constexpr std::uint64_t k_group_bytes = 8 * 16;
  return static_cast<std::uint64_t>((address & 0x3FFFF) >> 4) | (k_group_bytes >> 4) << 16 |
         static_cast<std::uint64_t>(group_bytes >> 4) << 32;
}

#define APSYN_D(d)                                                                                \
  "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
#define APSYN_A(a) "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])

/// d (+)= A B: A 64 x 16, B 16 x 32 n; each of the n accumulators holds 64 x 32. `add` is false for the first
/// product of a sum.
__device__ __forceinline__ void wgmma_half(float (&d0)[16], const std::uint32_t (&a)[4], std::uint64_t b,
                                           int add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %21, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, "
      "{%16,%17,%18,%19}, %20, p, 1, 1, 1;\n}"
      : APSYN_D(d0)
      : APSYN_A(a), "l"(b), "r"(add));
}
__device__ __forceinline__ void wgmma_half(float (&d0)[16], float (&d1)[16], const std::uint32_t (&a)[4],
                                           std::uint64_t b, int add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
      "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, "
      "{%32,%33,%34,%35}, %36, p, 1, 1, 1;\n}"
      : APSYN_D(d0), APSYN_D(d1)
      : APSYN_A(a), "l"(b), "r"(add));
}
__device__ __forceinline__ void wgmma_half(float (&d0)[16], float (&d1)[16], float (&d2)[16],
                                           const std::uint32_t (&a)[4], std::uint64_t b, int add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %53, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n96k16.f32.f16.f16 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
      "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
      "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47}, "
      "{%48,%49,%50,%51}, %52, p, 1, 1, 1;\n}"
      : APSYN_D(d0), APSYN_D(d1), APSYN_D(d2)
      : APSYN_A(a), "l"(b), "r"(add));
}
__device__ __forceinline__ void wgmma_half(float (&d0)[16], float (&d1)[16], float (&d2)[16], float (&d3)[16],
                                           const std::uint32_t (&a)[4], std::uint64_t b, int add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
      "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
      "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"
      "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, "
      "{%64,%65,%66,%67}, %68, p, 1, 1, 1;\n}"
      : APSYN_D(d0), APSYN_D(d1), APSYN_D(d2), APSYN_D(d3)
      : APSYN_A(a), "l"(b), "r"(add));
}
#undef APSYN_A
#undef APSYN_D

}  // namespace apsyn::ptx

#endif
