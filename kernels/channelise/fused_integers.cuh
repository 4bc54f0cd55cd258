// SPDX-License-Identifier: GPL-3.0-or-later
// The fused F stage's integers: rounding and clipping floats to bytes.
#pragma once

#include <cuda_runtime.h>

namespace apsyn::f_stage {

/// Adding 1.5 2^23 + 128 rounds a value to even and leaves value + 128 in the lowest byte.
constexpr float kShift = 12582912.0f + 128.0f;
constexpr unsigned kShiftBits = 0x4B400000u;  // of the upper 24 bits, for values -128 .. 127
constexpr unsigned kZeroPair = 0x8080u;

/// Lowest bytes of two shifted values.
__device__ __forceinline__ unsigned pair_of(float re, float im) {
  return __byte_perm(__float_as_uint(re), __float_as_uint(im), 0x7740) & 0xFFFFu;
}
/// Brings a shifted value into range; 1 when it was not.
__device__ __forceinline__ unsigned clip(float& shifted) {
  const float before = shifted;
  shifted = fminf(fmaxf(shifted, kShift - 127), kShift + 127);
  return shifted != before;
}
/// The same for the four bytes (value + 128) of a word, of which only -128 can be out of range.
__device__ __forceinline__ unsigned clip_bytes(unsigned& word) {
  if (((word - 0x01010101u) & ~word & 0x80808080u) == 0) return 0;
  unsigned n = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if ((word >> (8 * k) & 255u) == 0) {
      word |= 1u << (8 * k);
      ++n;
    }
  return n;
}

}  // namespace apsyn::f_stage
