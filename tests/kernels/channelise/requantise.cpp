// SPDX-License-Identifier: GPL-3.0-or-later
// The rule by which spectra become small integers.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/channelise/requantise.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(requantise)

BOOST_AUTO_TEST_CASE(values_round_to_even_and_clip) {
  int clipped = -1;
  for (const auto& [value, expected] : {std::pair{0.5f, 0}, {1.5f, 2}, {-0.5f, 0}, {-2.5f, -2}, {6.9f, 7}}) {
    BOOST_TEST(requantise_round(value, -8, 7, clipped) == expected);
    BOOST_TEST(clipped == 0);
  }
  for (const auto& [value, expected] :
       {std::pair{7.6f, 7}, {-8.6f, -8}, {1e30f, 7}, {-INFINITY, -8}, {NAN, -8}}) {
    BOOST_TEST(requantise_round(value, -8, 7, clipped) == expected);
    BOOST_TEST(clipped == 1);
  }
  BOOST_TEST(requantise_round(-7.9f, -8, 7, clipped) == -8);
  BOOST_TEST(requantise_round(7.4f, -8, 7, clipped) == 7);
  BOOST_TEST(clipped == 0);
  BOOST_TEST(requantise_low(8) == -127);
  BOOST_TEST(requantise_high(8) == 127);
}

BOOST_AUTO_TEST_CASE(scales_bring_a_component_to_its_steps) {
  BOOST_TEST(requantise_scale(2 * 10.0 * 10.0, 8) == 2.4f);
  BOOST_TEST(requantise_scale(2, 4) == 2.95f);
  BOOST_TEST(requantise_scale(0, 8) == 1.0f);
  BOOST_TEST(requantise_scale(NAN, 8) == 1.0f);
  BOOST_TEST(requantise_scale(1e-300, 8) == 1e30f);
  BOOST_TEST(requantise_window_spectra(128, 1000) == 32);
  BOOST_TEST(requantise_window_spectra(100, 1000) == 41);
  BOOST_TEST(requantise_window_spectra(8192, 1000) == 1);
  BOOST_TEST(requantise_window_spectra(1, 7) == 7);
}

BOOST_AUTO_TEST_CASE(dither_is_uniform_and_independent) {
  // 65536 draws of some channels and inputs, also beyond 2^32 spectra: a mean of draws is normal, so 5 sigma
  constexpr std::size_t n = 65536;
  std::vector<std::vector<float>> series;
  for (const std::uint32_t channel : {0u, 1u, 1000u})
    for (const std::uint32_t input : {0u, 1u, 255u})
      for (const std::int64_t first : {std::int64_t{0}, std::int64_t{5} << 32}) {
        std::vector<float> re(n), im(n);
        const std::uint32_t key = requantise_key(channel, input, first);
        for (std::size_t i = 0; i < n; ++i)
          requantise_dither(key, static_cast<std::uint32_t>(i), re[i], im[i]);
        series.push_back(re);
        series.push_back(im);
      }
  double worst_mean = 0, worst_power = 0, worst_pair = 0, worst_next = 0;
  for (std::size_t a = 0; a < series.size(); ++a) {
    double mean = 0, power = 0, next = 0;
    for (std::size_t i = 0; i < n; ++i) {
      BOOST_REQUIRE((series[a][i] >= -0.5f && series[a][i] < 0.5f));
      mean += series[a][i] / n;
      power += 12.0 * series[a][i] * series[a][i] / n;
      next += 12.0 * series[a][i] * series[a][(i + 1) % n] / n;
    }
    worst_mean = std::max(worst_mean, std::abs(mean) * std::sqrt(12.0 * n));
    worst_power = std::max(worst_power, std::abs(power - 1) * std::sqrt(n / 0.8));
    worst_next = std::max(worst_next, std::abs(next) * std::sqrt(n));
    for (std::size_t b = 0; b < a; ++b) {
      double pair = 0;
      for (std::size_t i = 0; i < n; ++i) pair += 12.0 * series[a][i] * series[b][i] / n;
      worst_pair = std::max(worst_pair, std::abs(pair) * std::sqrt(n));
    }
  }
  BOOST_TEST_MESSAGE("sigmas: mean " << worst_mean << ", power " << worst_power << ", neighbours "
                                     << worst_next << ", pairs " << worst_pair);
  BOOST_TEST(worst_mean < 5);
  BOOST_TEST(worst_power < 5);
  BOOST_TEST(worst_next < 5);
  BOOST_TEST(worst_pair < 5);
}

BOOST_AUTO_TEST_CASE(dithered_values_are_right_on_average) {
  int clipped = 0;
  for (const float value : {0.0f, 0.3f, -2.2f, 6.45f}) {
    double mean = 0, squares = 0;
    for (std::uint32_t i = 0; i < 100000; ++i) {
      float re = 0, im = 0;
      requantise_dither(requantise_key(3, 2, 0), i, re, im);
      const int q = requantise_round(value + re, -8, 7, clipped);
      mean += q / 1e5;
      squares += (q - value) * (q - value) / 1e5;
    }
    const float part = value - std::floor(value);
    BOOST_TEST(std::abs(mean - value) < 5 * 0.5 / std::sqrt(1e5));
    BOOST_TEST(std::abs(squares - part * (1 - part)) < 0.01);
  }
}

BOOST_AUTO_TEST_SUITE_END()
