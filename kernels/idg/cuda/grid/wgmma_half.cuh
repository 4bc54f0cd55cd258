// SPDX-License-Identifier: GPL-3.0-or-later
// wgmma of float16 with A from registers, for sm_90a only.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/sm90/barriers.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

namespace apsyn::ptx {

/// B in shared memory as groups of 8 columns `group_bytes` apart, each [k][8 columns] of 16 B.
__device__ __forceinline__ std::uint64_t half_descriptor(std::uint32_t address, std::uint32_t group_bytes) {
  constexpr std::uint64_t k_group_bytes = 8 * 16;
  return static_cast<std::uint64_t>((address & 0x3FFFF) >> 4) | (k_group_bytes >> 4) << 16 |
         static_cast<std::uint64_t>(group_bytes >> 4) << 32;
}

#define APSYN_R0 "%0,%1,%2,%3,%4,%5,%6,%7"
#define APSYN_R1 "%8,%9,%10,%11,%12,%13,%14,%15"
#define APSYN_R2 "%16,%17,%18,%19,%20,%21,%22,%23"
#define APSYN_R3 "%24,%25,%26,%27,%28,%29,%30,%31"
#define APSYN_R4 "%32,%33,%34,%35,%36,%37,%38,%39"
#define APSYN_R5 "%40,%41,%42,%43,%44,%45,%46,%47"
#define APSYN_R6 "%48,%49,%50,%51,%52,%53,%54,%55"
#define APSYN_R7 "%56,%57,%58,%59,%60,%61,%62,%63"
#define APSYN_R8 "%64,%65,%66,%67,%68,%69,%70,%71"
#define APSYN_R9 "%72,%73,%74,%75,%76,%77,%78,%79"
#define APSYN_R10 "%80,%81,%82,%83,%84,%85,%86,%87"
#define APSYN_R11 "%88,%89,%90,%91,%92,%93,%94,%95"
#define APSYN_R12 "%96,%97,%98,%99,%100,%101,%102,%103"
#define APSYN_R13 "%104,%105,%106,%107,%108,%109,%110,%111"
#define APSYN_R14 "%112,%113,%114,%115,%116,%117,%118,%119"
#define APSYN_R15 "%120,%121,%122,%123,%124,%125,%126,%127"
#define APSYN_D8(i)                                                                           \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define APSYN_D16(i) APSYN_D8(i), APSYN_D8(i + 8)
#define APSYN_D32(i) APSYN_D16(i), APSYN_D16(i + 16)
#define APSYN_WGMMA(columns, registers, a0, a1, a2, a3, b_at, add_at, ...)                                  \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #add_at                                                 \
               ", 0;\nwgmma.mma_async.sync.aligned.m64n" #columns "k16.f32.f16.f16 {" registers "}, {%" #a0 \
               ",%" #a1 ",%" #a2 ",%" #a3 "}, %" #b_at ", p, 1, 1, 1;\n}"                                   \
               : __VA_ARGS__                                                                                \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add))

/// d [kColumns / 2] (+)= A B: A 64 x 16, B 16 x kColumns. Eight columns take four registers of d. `add` is
/// false for the first product of a sum.
template <int kColumns>
__device__ __forceinline__ void wgmma_half(float* d, const std::uint32_t (&a)[4], std::uint64_t b, int add) {
  if constexpr (kColumns == 32)
    APSYN_WGMMA(32, APSYN_R0 "," APSYN_R1, 16, 17, 18, 19, 20, 21, APSYN_D16(0));
  else if constexpr (kColumns == 48)
    APSYN_WGMMA(48, APSYN_R0 "," APSYN_R1 "," APSYN_R2, 24, 25, 26, 27, 28, 29, APSYN_D16(0), APSYN_D8(16));
  else if constexpr (kColumns == 64)
    APSYN_WGMMA(64, APSYN_R0 "," APSYN_R1 "," APSYN_R2 "," APSYN_R3, 32, 33, 34, 35, 36, 37, APSYN_D32(0));
  else if constexpr (kColumns == 96)
    APSYN_WGMMA(96, APSYN_R0 "," APSYN_R1 "," APSYN_R2 "," APSYN_R3 "," APSYN_R4 "," APSYN_R5, 48, 49, 50, 51,
                52, 53, APSYN_D32(0), APSYN_D16(32));
  else if constexpr (kColumns == 128)
    APSYN_WGMMA(128,
                APSYN_R0 "," APSYN_R1 "," APSYN_R2 "," APSYN_R3 "," APSYN_R4 "," APSYN_R5 "," APSYN_R6
                         "," APSYN_R7,
                64, 65, 66, 67, 68, 69, APSYN_D32(0), APSYN_D32(32));
  else if constexpr (kColumns == 192)
    APSYN_WGMMA(192,
                APSYN_R0 "," APSYN_R1 "," APSYN_R2 "," APSYN_R3 "," APSYN_R4 "," APSYN_R5 "," APSYN_R6
                         "," APSYN_R7 "," APSYN_R8 "," APSYN_R9 "," APSYN_R10 "," APSYN_R11,
                96, 97, 98, 99, 100, 101, APSYN_D32(0), APSYN_D32(32), APSYN_D32(64));
  else if constexpr (kColumns == 256)
    APSYN_WGMMA(256,
                APSYN_R0 "," APSYN_R1 "," APSYN_R2 "," APSYN_R3 "," APSYN_R4 "," APSYN_R5 "," APSYN_R6
                         "," APSYN_R7 "," APSYN_R8 "," APSYN_R9 "," APSYN_R10 "," APSYN_R11 "," APSYN_R12
                         "," APSYN_R13 "," APSYN_R14 "," APSYN_R15,
                128, 129, 130, 131, 132, 133, APSYN_D32(0), APSYN_D32(32), APSYN_D32(64), APSYN_D32(96));
  else
    static_assert(kColumns == 0, "no such product");
}
#undef APSYN_WGMMA
#undef APSYN_D32
#undef APSYN_D16
#undef APSYN_D8
#undef APSYN_R15
#undef APSYN_R14
#undef APSYN_R13
#undef APSYN_R12
#undef APSYN_R11
#undef APSYN_R10
#undef APSYN_R9
#undef APSYN_R8
#undef APSYN_R7
#undef APSYN_R6
#undef APSYN_R5
#undef APSYN_R4
#undef APSYN_R3
#undef APSYN_R2
#undef APSYN_R1
#undef APSYN_R0

}  // namespace apsyn::ptx

#endif
