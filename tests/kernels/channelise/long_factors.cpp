// SPDX-License-Identifier: GPL-3.0-or-later
// Integers of a filterbank's taps and turns between passes, put together again, against the filterbank's
// definition.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <cstring>
#include <vector>

#include "kernels/channelise/long_factors.h"
#include "kernels/channelise/pfb.h"
#include "libcore/base/constants.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(long_factors)

BOOST_AUTO_TEST_CASE(weights_are_the_taps) {
  for (const std::size_t n_taps : {1, 3, 4, 9, 16}) {
    constexpr std::size_t kLength = 512;
    std::vector<float> taps = pfb_weights(kLength, {n_taps == 1 ? 0 : n_taps, Window::hann}, 1);
    if (taps.empty()) taps.assign(kLength, 0.0625f);
    taps[7] = -taps[7];
    const std::vector<std::uint8_t> factors = f_stage::long_factors(kLength, taps);
    float unit = 0, largest = 0;
    std::memcpy(&unit, factors.data(), sizeof(unit));
    for (const float tap : taps) largest = std::max(largest, std::abs(tap));
    double worst = 0;
    for (std::size_t tap = 0; tap < 4u * static_cast<unsigned>(f_stage::tap_words(static_cast<int>(n_taps)));
         ++tap)
      for (std::size_t n = 0; n < kLength; ++n) {
        const std::uint8_t* at = factors.data() + f_stage::kLongHeaderBytes + (tap / 4 * kLength + n) * 16;
        std::int16_t high = 0;
        std::memcpy(&high, at + tap % 4 * 2, sizeof(high));
        const auto low = static_cast<std::int8_t>(at[8 + tap % 4]);
        const double weight = static_cast<double>(unit) * (high + low / 256.0);
        const double truth = tap < n_taps ? static_cast<double>(taps[tap * kLength + n]) : 0;
        worst = std::max(worst, std::abs(weight - truth));
      }
    // half a unit of 2^-23, and the unit's own rounding
    BOOST_TEST(worst < 1.1 * std::pow(2.0, -24) * static_cast<double>(largest));
  }
}

BOOST_AUTO_TEST_CASE(passes_with_their_turns_are_the_transform) {
  for (int length = 256; length <= 16384; length *= 2) {
    const f_stage::LongPasses passes = f_stage::long_passes(length);
    BOOST_TEST(passes.radix[0] == 32);
    BOOST_TEST(passes.radix[0] * passes.radix[1] * passes.radix[2] == length);
    const std::vector<float> taps(static_cast<std::size_t>(length), 1.0f);
    const std::vector<std::uint8_t> factors = f_stage::long_factors(length, taps);
    const std::uint8_t* at =
        factors.data() + f_stage::kLongHeaderBytes + f_stage::long_weight_bytes(length, 1);
    // a tone n0 through passes in Stockham's order, in which values stay where they are summed from
    using Complex = std::complex<double>;
    std::vector<Complex> x(static_cast<std::size_t>(length)), y(x.size());
    const int n0 = length / 3;
    x[static_cast<std::size_t>(n0)] = 1;
    int before = 1;
    for (const int radix : passes.radix) {
      for (int i = 0; i < length / radix; ++i)
        for (int q = 0; q < radix; ++q) {
          Complex sum = 0;
          for (int r = 0; r < radix; ++r) {
            Complex value = x[static_cast<std::size_t>(i + r * (length / radix))];
            if (value == 0.0) continue;
            if (before > 1 && r > 0) {
              float turn[2];
              std::memcpy(turn, at + ((r - 1) * before + i % before) * 8, sizeof(turn));
              value *= Complex(static_cast<double>(turn[0]), static_cast<double>(turn[1]));
            }
            sum += value * std::polar(1.0, -kTwoPi * q * r / radix);
          }
          y[static_cast<std::size_t>(i / before * before * radix + i % before + q * before)] = sum;
        }
      if (before > 1) at += (radix - 1) * before * 8;
      before *= radix;
      std::swap(x, y);
    }
    double worst = 0;
    for (int bin = 0; bin < length; ++bin)
      worst = std::max(worst,
                       std::abs(x[static_cast<std::size_t>(bin)] -
                                std::polar(1.0, -kTwoPi * (static_cast<long>(n0) * bin % length) / length)));
    BOOST_TEST(worst < 2e-7);
    BOOST_TEST((at == factors.data() + factors.size()));
  }
}

BOOST_AUTO_TEST_SUITE_END()
