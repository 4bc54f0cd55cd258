// SPDX-License-Identifier: GPL-3.0-or-later
// The fused F stage's integers: rounding and clipping floats to bytes.
#pragma once

#include <cuda_runtime.h>

namespace apsyn::f_stage {

/// Adding 1.5 2^23 rounds a value to even and leaves it in the lowest byte, if that holds it.
constexpr float kShift = 12582912.0f;
constexpr float kRoundsInRange = 127.499f;  // values up to here need no clipping

/// Lowest bytes of two shifted values.
__device__ __forceinline__ unsigned short pair_of(float re, float im) {
  return static_cast<unsigned short>(__byte_perm(__float_as_uint(re), __float_as_uint(im), 0x7740));
}
/// Brings a shifted value into range; 1 when it was not.
__device__ __forceinline__ unsigned clip(float& shifted) {
  const float before = shifted;
  shifted = fminf(fmaxf(shifted, kShift - 127), kShift + 127);
  return shifted != before;
}
/// Bytes k of four words, in their order, for k = 0 .. 3.
__device__ __forceinline__ void transpose_bytes(unsigned (&word)[4]) {
  const unsigned ab_low = __byte_perm(word[0], word[1], 0x5140),
                 ab_high = __byte_perm(word[0], word[1], 0x7362);
  const unsigned cd_low = __byte_perm(word[2], word[3], 0x5140),
                 cd_high = __byte_perm(word[2], word[3], 0x7362);
  word[0] = __byte_perm(ab_low, cd_low, 0x5410);
  word[1] = __byte_perm(ab_low, cd_low, 0x7632);
  word[2] = __byte_perm(ab_high, cd_high, 0x5410);
  word[3] = __byte_perm(ab_high, cd_high, 0x7632);
}

}  // namespace apsyn::f_stage
