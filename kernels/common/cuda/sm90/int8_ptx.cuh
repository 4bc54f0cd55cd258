// SPDX-License-Identifier: GPL-3.0-or-later
// Products of int8 on tensor cores, and what brings their operands. The wgmma part assembles for sm_90a only.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/sm90/barriers.cuh"

namespace apsyn::ptx {

/// Four 8x8 matrices of 16-bit elements, that is of 8 rows x 16 int8; lane l gives the address of row l & 7
/// of matrix l / 8.
__device__ __forceinline__ void load_matrices(std::uint32_t (&r)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

__device__ __forceinline__ int4 load_shared(std::uint32_t address) {
  int4 v;
  asm volatile("ld.shared.v4.s32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(address)
               : "memory");
  return v;
}
__device__ __forceinline__ void store_shared(std::uint32_t address, int4 v) {
  asm volatile("st.shared.v4.s32 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

/// d += A B: A 16 x 32, B 32 x 8.
__device__ __forceinline__ void mma_s8(int* d, const std::uint32_t (&a)[4], std::uint32_t b0,
                                       std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Sum of the four int8 in each of four words.
__device__ __forceinline__ int add_bytes(int4 v, int sum) {
  sum = __dp4a(v.x, 0x01010101, sum);
  sum = __dp4a(v.y, 0x01010101, sum);
  sum = __dp4a(v.z, 0x01010101, sum);
  return __dp4a(v.w, 0x01010101, sum);
}

/// Of 32 bits each, exactly.
__device__ __forceinline__ std::int64_t multiply_wide(int a, int b) {
  std::int64_t product;
  asm("mul.wide.s32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
  return product;
}

/// d = A B + c: A 16 x 32 and B 32 x 8, each lane holding its share (PTX: m16n8k32).
__device__ __forceinline__ void mma_s8(int (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                       std::uint32_t b1, const int (&c)[4]) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%10,%11,%12,%13};"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(c[0]), "r"(c[1]), "r"(c[2]),
        "r"(c[3]));
}
/// The same for A 16 x 16 and B 16 x 8.
__device__ __forceinline__ void mma_s8(int (&d)[4], const std::uint32_t (&a)[2], std::uint32_t b,
                                       const int (&c)[4]) {
  asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(b), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

__device__ __forceinline__ void barrier_expect(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
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

/// Rows of 128 B with the 128-byte swizzle, groups of 8 rows 1024 B apart; +2 moves 32 B along a row.
__device__ __forceinline__ constexpr std::uint64_t wgmma_descriptor(std::uint32_t address) {
  return static_cast<std::uint64_t>((address & 0x3FFFF) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);
}

#define APSYN_R8(d, o)                                                                        \
  "+r"(d[o]), "+r"(d[o + 1]), "+r"(d[o + 2]), "+r"(d[o + 3]), "+r"(d[o + 4]), "+r"(d[o + 5]), \
      "+r"(d[o + 6]), "+r"(d[o + 7])
#define APSYN_R32(d, o) APSYN_R8(d, o), APSYN_R8(d, o + 8), APSYN_R8(d, o + 16), APSYN_R8(d, o + 24)

// The instruction up to its accumulators, %0 and those behind, of B with 64 or 128 rows.
#define APSYN_WGMMA_S8_64                                                                   \
  "wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 "                                       \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23," \
  "%24,%25,%26,%27,%28,%29,%30,%31}, "
#define APSYN_WGMMA_S8_128                                                                   \
  "wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 "                                       \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,"  \
  "%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45," \
  "%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, "

/// d += A B^T: A 64 x 32 from registers, B 128 x 32 from shared memory.
__device__ __forceinline__ void wgmma_s8(int (&d)[64], const std::uint32_t (&a)[4], std::uint64_t b) {
  asm volatile(APSYN_WGMMA_S8_128 "{%64,%65,%66,%67}, %68, 1;"
               : APSYN_R32(d, 0), APSYN_R32(d, 32)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
/// The same for two halves of d; without kAdd what was in d, which has to be 0, is not read.
template <bool kAdd = true>
__device__ __forceinline__ void wgmma_s8(int (&d)[2][32], const std::uint32_t (&a)[4], std::uint64_t b) {
  asm volatile(APSYN_WGMMA_S8_128 "{%64,%65,%66,%67}, %68, %69;"
               : APSYN_R32(d[0], 0), APSYN_R32(d[1], 0)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(kAdd ? 1 : 0));
}
/// The same for B 64 x 32; without kAdd what was in d, which has to be 0, is not read.
template <bool kAdd = true>
__device__ __forceinline__ void wgmma_s8(int (&d)[32], const std::uint32_t (&a)[4], std::uint64_t b) {
  asm volatile(APSYN_WGMMA_S8_64 "{%32,%33,%34,%35}, %36, %37;"
               : APSYN_R32(d, 0)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(kAdd ? 1 : 0));
}
/// d += A B^T: A and B 64 x 32 from shared memory.
__device__ __forceinline__ void wgmma_s8(int (&d)[32], std::uint64_t a, std::uint64_t b) {
  asm volatile(APSYN_WGMMA_S8_64 "%32, %33, 1;" : APSYN_R32(d, 0) : "l"(a), "l"(b));
}
/// The same for B 128 x 32.
__device__ __forceinline__ void wgmma_s8(int (&d)[64], std::uint64_t a, std::uint64_t b) {
  asm volatile(APSYN_WGMMA_S8_128 "%64, %65, 1;" : APSYN_R32(d, 0), APSYN_R32(d, 32) : "l"(a), "l"(b));
}
/// d[kFirst..] += A B^T: A 64 x 32 from registers, B 32 x 32 from shared memory.
template <int kFirst, bool kAdd = true>
__device__ __forceinline__ void wgmma_s8_narrow(int (&d)[32], const std::uint32_t (&a)[4], std::uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n32k32.s32.s8.s8 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, {%16,%17,%18,%19}, %20, %21;"
      : APSYN_R8(d, kFirst), APSYN_R8(d, kFirst + 8)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(kAdd ? 1 : 0));
}
#undef APSYN_WGMMA_S8_128
#undef APSYN_WGMMA_S8_64
#undef APSYN_R32
#undef APSYN_R8

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace apsyn::ptx
