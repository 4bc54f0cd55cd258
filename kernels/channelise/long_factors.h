// SPDX-License-Identifier: GPL-3.0-or-later
// What the F stage of long spectra multiplies samples by (cuda/long/long.cuh): taps as integers of 24 bits,
// and the turns between the passes of its transform.
//
// A tap's weight is unit (high + low / 256), high of 16 bits and low of 8, so that sums over bytes of samples
// are exact: unit is a 32767th of the largest weight, and weights are exact to 2^-24 of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/common/host_device.h"

namespace apsyn::f_stage {

/// Radices of the passes of a transform of 256 to 16384 samples, the first of which is 32.
struct LongPasses {
  int radix[3];
};
APSYN_HOST_DEVICE constexpr LongPasses long_passes(int length) {
  switch (length) {
    case 256:
      return {{32, 8, 1}};
    case 512:
      return {{32, 16, 1}};
    case 1024:
      return {{32, 32, 1}};
    case 2048:
      return {{32, 8, 8}};
    case 4096:
      return {{32, 16, 8}};
    case 8192:
      return {{32, 16, 16}};
    default:
      return {{32, 32, 16}};  // 16384
  }
}

/// Taps that are weighted together, and words of them: 1, 2 or 4; behind the last of a filterbank stand
/// weights of 0.
constexpr int kTapsOfWord = 4, kMostLongTaps = 16;
APSYN_HOST_DEVICE constexpr int tap_words(int n_taps) {
  return n_taps <= kTapsOfWord ? 1 : n_taps <= 2 * kTapsOfWord ? 2 : 4;
}
/// Where weights and turns start, and what they take.
constexpr std::size_t kLongHeaderBytes = 16;  // the unit, float32
constexpr std::size_t long_weight_bytes(int length, int n_taps) {
  return static_cast<std::size_t>(tap_words(n_taps)) * static_cast<std::size_t>(length) * 16;
}

/// `taps` is [tap][sample]. The header; weights [word of taps][sample] of 16 bytes: two int16 of taps 0 and
/// 1, two of taps 2 and 3, four int8, nothing; turns float32 complex [pass but the first][r - 1][k], exp(-2
/// pi i k r / (before radix)), k below `before`, the product of the radices of the passes before.
std::vector<std::uint8_t> long_factors(int length, std::span<const float> taps);

}  // namespace apsyn::f_stage
