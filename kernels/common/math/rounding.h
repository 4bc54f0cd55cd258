// SPDX-License-Identifier: GPL-3.0-or-later
// Rounding of floats to integers of a few bits.
#pragma once

#include <algorithm>

namespace apsyn {

/// x within [low, high], to the nearest integer, ties to even, by pushing the fraction out of the mantissa;
/// needs |low|, |high| < 2^22.
inline int round_clipped(float x, float low, float high) {
  constexpr float shift = 0x1.8p23f;
  return static_cast<int>((std::clamp(x, low, high) + shift) - shift);
}

}  // namespace apsyn
