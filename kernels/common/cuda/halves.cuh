// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers as halves for tensor cores, in pairs as these take them.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>

namespace apsyn {

/// Two numbers: high, or high + low in 22 bits each.
template <int kParts>
struct Halves {
  std::uint32_t part[kParts];
  __host__ __device__ __forceinline__ Halves(float first, float second) {
    const __half2 rounded = __floats2half2_rn(first, second);
    std::memcpy(&part[0], &rounded, 4);
    if constexpr (kParts == 2) {
      const float2 back = __half22float2(rounded);
      const __half2 rest = __floats2half2_rn(first - back.x, second - back.y);
      std::memcpy(&part[1], &rest, 4);
    }
  }
};

}  // namespace apsyn
