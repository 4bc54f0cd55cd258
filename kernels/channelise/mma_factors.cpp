// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/channelise/mma_factors.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "libcore/base/constants.h"

namespace apsyn::f_stage {

namespace {

constexpr double kTop = 127.0 * 65536.0;

/// Weight of byte k (of 16) of a tap's samples in row r of set b; `tap` holds the L weights of the tap.
double weight(bool real, int length, const float* tap, int b, int r, int k) {
  const int radix = real ? 16 : 8, behind = length / radix;
  // Lane q of four holds bytes 4 q ..: samples q, q + 4 (re and im), or q, q + 4, q + 8, q + 12.
  const int a = real ? k / 4 + 4 * (k % 4) : k / 4 + 4 * (k % 4 / 2);
  const int n = behind * a + b;
  const double h = tap[n];
  if (real && r == 0) return h;
  if (real && r == 8) return a % 2 == 0 ? h : -h;
  const double turn = -kTwoPi * static_cast<double>(n * (r % 8) % length) / length;
  const bool imaginary_row = r >= 8, imaginary_byte = !real && k % 2 == 1;
  if (imaginary_row == imaginary_byte) return h * std::cos(turn);
  return imaginary_row ? h * std::sin(turn) : -h * std::sin(turn);
}

/// The lowest of `value`'s balanced digits of base 256, which is taken off.
std::int8_t take_digit(std::int64_t& value) {
  const std::int64_t digit = ((value + 128) & 255) - 128;
  value = (value - digit) / 256;
  return static_cast<std::int8_t>(digit);
}

}  // namespace

std::vector<std::uint8_t> mma_factors(bool real, int length, std::span<const float> taps) {
  const int n_taps = static_cast<int>(taps.size()) / length, behind = length / (real ? 16 : 8);
  const int n_steps = std::max(1, n_taps / 2), words = n_taps == 1 ? 2 : 4;
  double largest = 0;
  for (const float h : taps) largest = std::max(largest, std::abs(static_cast<double>(h)));
  if (largest == 0) largest = 1;
  constexpr std::size_t kHeader = 16, kDigits = 3, kLanes = 32;
  const std::size_t digit_bytes = kLanes * static_cast<std::size_t>(words) * 4;
  std::vector<std::uint8_t> factors(kHeader +
                                    static_cast<std::size_t>(behind * n_steps) * kDigits * digit_bytes);
  const auto unit = static_cast<float>(largest / 127);
  std::memcpy(factors.data(), &unit, sizeof(unit));
  std::uint8_t* to = factors.data() + kHeader;
  for (int b = 0; b < behind; ++b)
    for (int step = 0; step < n_steps; ++step, to += kDigits * digit_bytes)
      for (int lane = 0; lane < 32; ++lane)
        for (int word = 0; word < words; ++word)
          for (int i = 0; i < 4; ++i) {
            const int row = lane / 4 + 8 * (word % 2), tap = 2 * step + word / 2;
            const double w = weight(real, length, taps.data() + tap * length, b, row, 4 * (lane % 4) + i);
            std::int64_t rest = std::llround(w / largest * kTop);
            for (int digit = 2; digit >= 0; --digit)  // the lowest is the last
              to[static_cast<std::size_t>(digit) * digit_bytes +
                 static_cast<std::size_t>((lane * words + word) * 4 + i)] =
                  static_cast<std::uint8_t>(take_digit(rest));
          }
  return factors;
}

}  // namespace apsyn::f_stage
