// SPDX-License-Identifier: GPL-3.0-or-later
// wgmma of half-precision operands for the degridder, A from registers; assembles for sm_90a only.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/sm90/barriers.cuh"

namespace apsyn::idg_degrid {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/// B stored as [k / 8][column][8 k] without a swizzle: groups of 8 columns 128 B apart.
__device__ __forceinline__ std::uint64_t operand_descriptor(std::uint32_t address, std::uint32_t k_stride) {
  return static_cast<std::uint64_t>((address & 0x3FFFF) >> 4) |
         static_cast<std::uint64_t>(k_stride >> 4) << 16 | static_cast<std::uint64_t>(128 >> 4) << 32;
}

#define APSYN_F4(d, o) "+f"(d[o]), "+f"(d[o + 1]), "+f"(d[o + 2]), "+f"(d[o + 3])
#define APSYN_F8(d, o) APSYN_F4(d, o), APSYN_F4(d, o + 4)
#define APSYN_F16(d, o) APSYN_F8(d, o), APSYN_F8(d, o + 8)

/// d = A B or, with `add`, d += A B: A 64 x 16 from registers, B 16 x 24.
__device__ __forceinline__ void wgmma_f16(float (&d)[12], const std::uint32_t (&a)[4], std::uint64_t b,
                                          bool add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %17, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n24k16.f32.f16.f16 {"
      "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11"
      "}, {%12,%13,%14,%15}, %16, p, 1, 1, 0;\n}"
      : APSYN_F8(d, 0), APSYN_F4(d, 8)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)));
}
/// d = A B or, with `add`, d += A B: A 64 x 16 from registers, B 16 x 32.
__device__ __forceinline__ void wgmma_f16(float (&d)[16], const std::uint32_t (&a)[4], std::uint64_t b,
                                          bool add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %21, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {"
      "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
      "}, {%16,%17,%18,%19}, %20, p, 1, 1, 0;\n}"
      : APSYN_F16(d, 0)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)));
}
/// d = A B or, with `add`, d += A B: A 64 x 16 from registers, B 16 x 48.
__device__ __forceinline__ void wgmma_f16(float (&d)[24], const std::uint32_t (&a)[4], std::uint64_t b,
                                          bool add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %29, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n48k16.f32.f16.f16 {"
      "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,"
      "%23"
      "}, {%24,%25,%26,%27}, %28, p, 1, 1, 0;\n}"
      : APSYN_F16(d, 0), APSYN_F8(d, 16)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)));
}
/// d = A B or, with `add`, d += A B: A 64 x 16 from registers, B 16 x 64.
__device__ __forceinline__ void wgmma_f16(float (&d)[32], const std::uint32_t (&a)[4], std::uint64_t b,
                                          bool add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
      "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,"
      "%23,%24,%25,%26,%27,%28,%29,%30,%31"
      "}, {%32,%33,%34,%35}, %36, p, 1, 1, 0;\n}"
      : APSYN_F16(d, 0), APSYN_F16(d, 16)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)));
}

#undef APSYN_F16
#undef APSYN_F8
#undef APSYN_F4

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace apsyn::idg_degrid
