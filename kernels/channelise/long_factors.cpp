// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/channelise/long_factors.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "libcore/base/constants.h"

namespace apsyn::f_stage {

namespace {

void put_weights(int length, std::span<const float> taps, std::uint8_t* to) {
  const int n_taps = static_cast<int>(taps.size()) / length;
  double largest = 0;
  for (const float h : taps) largest = std::max(largest, std::abs(static_cast<double>(h)));
  if (largest == 0) largest = 1;
  const auto unit = static_cast<float>(largest / 32767);
  std::memcpy(to, &unit, sizeof(unit));
  to += kLongHeaderBytes;
  for (int word = 0; word < tap_words(n_taps); ++word)
    for (int n = 0; n < length; ++n, to += 16)
      for (int i = 0; i < kTapsOfWord; ++i) {
        const int tap = word * kTapsOfWord + i;
        if (tap >= n_taps) continue;
        const double h = taps[static_cast<std::size_t>(tap) * static_cast<std::size_t>(length) +
                              static_cast<std::size_t>(n)];
        const auto weight = static_cast<std::int32_t>(std::lround(h / static_cast<double>(unit) * 256));
        const auto low = static_cast<std::int8_t>(((weight + 128) & 255) - 128);
        const auto high = static_cast<std::int16_t>((weight - low) / 256);
        std::memcpy(to + 2 * i, &high, sizeof(high));
        std::memcpy(to + 8 + i, &low, sizeof(low));
      }
}

}  // namespace

std::vector<std::uint8_t> long_factors(int length, std::span<const float> taps) {
  const int n_taps = static_cast<int>(taps.size()) / length;
  const LongPasses passes = long_passes(length);
  std::vector<float> turns;
  int before = passes.radix[0];
  for (int pass = 1; pass < 3; ++pass) {
    const int radix = passes.radix[pass];
    for (int r = 1; r < radix; ++r)
      for (int k = 0; k < before; ++k) {
        const double turn = -kTwoPi * k * r / (before * radix);
        turns.push_back(static_cast<float>(std::cos(turn)));
        turns.push_back(static_cast<float>(std::sin(turn)));
      }
    before *= radix;
  }
  const std::size_t weight_bytes = long_weight_bytes(length, n_taps);
  std::vector<std::uint8_t> factors(kLongHeaderBytes + weight_bytes + turns.size() * sizeof(float));
  put_weights(length, taps, factors.data());
  std::memcpy(factors.data() + kLongHeaderBytes + weight_bytes, turns.data(), turns.size() * sizeof(float));
  return factors;
}

}  // namespace apsyn::f_stage
