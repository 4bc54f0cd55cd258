// SPDX-License-Identifier: GPL-3.0-or-later
// Products of a warpgroup on tensor cores (wgmma). A thread's accumulators d are kColumns / 2 of the 64 x
// kColumns results, as PTX defines it. For sm_90a only.
#pragma once

#include <cstdint>

namespace apsyn::ptx {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// -- Order --

/// Comes before the first product of a group and before products that take registers written since.
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
/// Ends a group of products.
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Waits until at most kPending groups are under way.
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// -- Operands in shared memory --

/// Rows of 128 B with the 128-byte swizzle, groups of 8 rows 1024 B apart; +2 moves 32 B along a row.
__device__ __forceinline__ constexpr std::uint64_t swizzled_descriptor(std::uint32_t address) {
  return static_cast<std::uint64_t>((address & 0x3FFFF) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);
}
/// Blocks of 128 B, 8 times 16 B without a swizzle; the next ones along k and along the columns are so many
/// bytes away.
__device__ __forceinline__ std::uint64_t plain_descriptor(std::uint32_t address, std::uint32_t k_bytes,
                                                          std::uint32_t column_bytes) {
  return static_cast<std::uint64_t>((address & 0x3FFFF) >> 4) |
         static_cast<std::uint64_t>(k_bytes >> 4) << 16 | static_cast<std::uint64_t>(column_bytes >> 4) << 32;
}

// -- Products --

// Registers of d in the text of an instruction, and d as what it writes.
#define APSYN_REGISTERS_8 "%0,%1,%2,%3,%4,%5,%6,%7"
#define APSYN_REGISTERS_12 APSYN_REGISTERS_8 ",%8,%9,%10,%11"
#define APSYN_REGISTERS_16 APSYN_REGISTERS_12 ",%12,%13,%14,%15"
#define APSYN_REGISTERS_24 APSYN_REGISTERS_16 ",%16,%17,%18,%19,%20,%21,%22,%23"
#define APSYN_REGISTERS_32 APSYN_REGISTERS_24 ",%24,%25,%26,%27,%28,%29,%30,%31"
#define APSYN_REGISTERS_48 \
  APSYN_REGISTERS_32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47"
#define APSYN_REGISTERS_64 \
  APSYN_REGISTERS_48 ",%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define APSYN_REGISTERS_96                                                             \
  APSYN_REGISTERS_64                                                                   \
  ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%" \
  "84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define APSYN_REGISTERS_128                                                                      \
  APSYN_REGISTERS_96                                                                             \
  ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114," \
  "%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define APSYN_OUT_4(kind, d, i) kind(d[i]), kind(d[i + 1]), kind(d[i + 2]), kind(d[i + 3])
#define APSYN_OUT_8(kind, d, i) APSYN_OUT_4(kind, d, i), APSYN_OUT_4(kind, d, i + 4)
#define APSYN_OUT_16(kind, d, i) APSYN_OUT_8(kind, d, i), APSYN_OUT_8(kind, d, i + 8)
#define APSYN_OUT_32(kind, d, i) APSYN_OUT_16(kind, d, i), APSYN_OUT_16(kind, d, i + 16)

/// The index of B that runs fastest in shared memory.
enum class Fastest { k = 0, column = 1 };

#define APSYN_WGMMA_F16(columns, registers, a0, a1, a2, a3, at_b, at_add, at_sign, at_fastest, ...)         \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #at_add                                                 \
               ", 0;\nwgmma.mma_async.sync.aligned.m64n" #columns "k16.f32.f16.f16 {" registers "}, {%" #a0 \
               ",%" #a1 ",%" #a2 ",%" #a3 "}, %" #at_b ", p, %" #at_sign ", 1, %" #at_fastest ";\n}"        \
               : __VA_ARGS__                                                                                \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(kSign),                  \
                 "n"(static_cast<int>(kFastest)))

/// d = kSign A B or, where `add` is not 0, d += kSign A B of halves: A 64 x 16 from registers, B 16 x
/// kColumns from shared memory.
template <int kColumns, Fastest kFastest, int kSign = 1>
__device__ __forceinline__ void wgmma_f16(float* d, const std::uint32_t (&a)[4], std::uint64_t b, int add) {
  if constexpr (kColumns == 24)
    APSYN_WGMMA_F16(24, APSYN_REGISTERS_12, 12, 13, 14, 15, 16, 17, 18, 19, APSYN_OUT_8("+f", d, 0),
                    APSYN_OUT_4("+f", d, 8));
  else if constexpr (kColumns == 32)
    APSYN_WGMMA_F16(32, APSYN_REGISTERS_16, 16, 17, 18, 19, 20, 21, 22, 23, APSYN_OUT_16("+f", d, 0));
  else if constexpr (kColumns == 48)
    APSYN_WGMMA_F16(48, APSYN_REGISTERS_24, 24, 25, 26, 27, 28, 29, 30, 31, APSYN_OUT_16("+f", d, 0),
                    APSYN_OUT_8("+f", d, 16));
  else if constexpr (kColumns == 64)
    APSYN_WGMMA_F16(64, APSYN_REGISTERS_32, 32, 33, 34, 35, 36, 37, 38, 39, APSYN_OUT_32("+f", d, 0));
  else if constexpr (kColumns == 96)
    APSYN_WGMMA_F16(96, APSYN_REGISTERS_48, 48, 49, 50, 51, 52, 53, 54, 55, APSYN_OUT_32("+f", d, 0),
                    APSYN_OUT_16("+f", d, 32));
  else if constexpr (kColumns == 128)
    APSYN_WGMMA_F16(128, APSYN_REGISTERS_64, 64, 65, 66, 67, 68, 69, 70, 71, APSYN_OUT_32("+f", d, 0),
                    APSYN_OUT_32("+f", d, 32));
  else if constexpr (kColumns == 192)
    APSYN_WGMMA_F16(192, APSYN_REGISTERS_96, 96, 97, 98, 99, 100, 101, 102, 103, APSYN_OUT_32("+f", d, 0),
                    APSYN_OUT_32("+f", d, 32), APSYN_OUT_32("+f", d, 64));
  else if constexpr (kColumns == 256)
    APSYN_WGMMA_F16(256, APSYN_REGISTERS_128, 128, 129, 130, 131, 132, 133, 134, 135,
                    APSYN_OUT_32("+f", d, 0), APSYN_OUT_32("+f", d, 32), APSYN_OUT_32("+f", d, 64),
                    APSYN_OUT_32("+f", d, 96));
  else
    static_assert(kColumns == 0, "wgmma_f16 has no product of this width: add it to the list");
}
#undef APSYN_WGMMA_F16

/// The same of 8-bit floats e4m3: A 64 x 32, B 32 x 64 with k fastest.
template <int kSign>
__device__ __forceinline__ void wgmma_f8(float (&d)[32], const std::uint32_t (&a)[4], std::uint64_t b,
                                         int add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 {" APSYN_REGISTERS_32
      "}, {%32,%33,%34,%35}, %36, p, %38, 1;\n}"
      : APSYN_OUT_32("+f", d, 0)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(kSign));
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

// The instruction for int8 up to its accumulators, of B with 64 or 128 columns.
#define APSYN_WGMMA_S8_64 "wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 {" APSYN_REGISTERS_32 "}, "
#define APSYN_WGMMA_S8_128 "wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 {" APSYN_REGISTERS_64 "}, "

/// d += A B of int8: A 64 x 32 from registers, B 32 x 128 from shared memory with k fastest.
__device__ __forceinline__ void wgmma_s8(int (&d)[64], const std::uint32_t (&a)[4], std::uint64_t b) {
  asm volatile(APSYN_WGMMA_S8_128 "{%64,%65,%66,%67}, %68, 1;"
               : APSYN_OUT_32("+r", d, 0), APSYN_OUT_32("+r", d, 32)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
/// The same for two halves of d; without kAdd what was in d, which has to be 0, is not read.
template <bool kAdd = true>
__device__ __forceinline__ void wgmma_s8(int (&d)[2][32], const std::uint32_t (&a)[4], std::uint64_t b) {
  asm volatile(APSYN_WGMMA_S8_128 "{%64,%65,%66,%67}, %68, %69;"
               : APSYN_OUT_32("+r", d[0], 0), APSYN_OUT_32("+r", d[1], 0)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(kAdd ? 1 : 0));
}
/// The same for B 32 x 64; without kAdd what was in d, which has to be 0, is not read.
template <bool kAdd = true>
__device__ __forceinline__ void wgmma_s8(int (&d)[32], const std::uint32_t (&a)[4], std::uint64_t b) {
  asm volatile(APSYN_WGMMA_S8_64 "{%32,%33,%34,%35}, %36, %37;"
               : APSYN_OUT_32("+r", d, 0)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(kAdd ? 1 : 0));
}
/// d += A B: A 64 x 32 and B 32 x 64 from shared memory.
__device__ __forceinline__ void wgmma_s8(int (&d)[32], std::uint64_t a, std::uint64_t b) {
  asm volatile(APSYN_WGMMA_S8_64 "%32, %33, 1;" : APSYN_OUT_32("+r", d, 0) : "l"(a), "l"(b));
}
/// d[kFirst..] += A B: A 64 x 32 from registers, B 32 x 32 from shared memory.
template <int kFirst, bool kAdd = true>
__device__ __forceinline__ void wgmma_s8_narrow(int (&d)[32], const std::uint32_t (&a)[4], std::uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n32k32.s32.s8.s8 {" APSYN_REGISTERS_16
               "}, {%16,%17,%18,%19}, %20, %21;"
               : APSYN_OUT_16("+r", d, kFirst)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(kAdd ? 1 : 0));
}

#undef APSYN_WGMMA_S8_128
#undef APSYN_WGMMA_S8_64
#undef APSYN_OUT_32
#undef APSYN_OUT_16
#undef APSYN_OUT_8
#undef APSYN_OUT_4
#undef APSYN_REGISTERS_128
#undef APSYN_REGISTERS_96
#undef APSYN_REGISTERS_64
#undef APSYN_REGISTERS_48
#undef APSYN_REGISTERS_32
#undef APSYN_REGISTERS_24
#undef APSYN_REGISTERS_16
#undef APSYN_REGISTERS_12
#undef APSYN_REGISTERS_8

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace apsyn::ptx
