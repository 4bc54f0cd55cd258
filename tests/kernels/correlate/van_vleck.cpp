// SPDX-License-Identifier: GPL-3.0-or-later
// The correction for quantising against integrals over the density, and against simulated noise.
#include "kernels/correlate/van_vleck.h"

#include <boost/test/unit_test.hpp>

#include <cmath>

#include "tests/reference/recordings/quantised_normal.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(van_vleck)

namespace {

/// Signal-to-noise ratio of weak correlations relative to unquantised ones: the squared gain over the power.
double efficiency(unsigned n_bit, double rms) {
  const Quantiser quantiser = twos_complement(n_bit);
  const double gain = quantised_terms(quantiser, rms)[1];
  return gain * gain / quantised_power(quantiser, rms);
}

}  // namespace

BOOST_AUTO_TEST_CASE(efficiencies_are_the_published_ones) {
  double best2 = 0;
  for (double rms = 0.5; rms < 2; rms += 0.001) {
    // four levels of equal steps about 0: a two's complement pair of bits about -1/2
    double gain = 0, power = 0;
    for (const double t : {-1.0, 0.0, 1.0}) gain += std::exp(-0.5 * t * t / rms / rms) / std::sqrt(2 * M_PI);
    for (const auto& [low, high, value] : {std::tuple{0.0, 1.0, 0.5}, {1.0, 99.0, 1.5}})
      power +=
          value * value * (std::erfc(low / rms / std::sqrt(2.0)) - std::erfc(high / rms / std::sqrt(2.0)));
    best2 = std::max(best2, gain * gain / power);
  }
  // the published figures have four or five digits: measured 5e-5, 4e-5, 1e-5 and 8e-6 off
  BOOST_TEST(std::abs(best2 - 0.8812) <= 0.002);
  BOOST_TEST(std::abs(efficiency(4, 2.95) - 0.9881) <= 0.002);
  BOOST_TEST(efficiency(4, 2.95) > efficiency(4, 2.75));
  BOOST_TEST(efficiency(4, 2.95) > efficiency(4, 3.15));
  BOOST_TEST(std::abs(efficiency(8, 32) - 0.9999) <= 0.002);
  BOOST_TEST(std::abs(efficiency(8, 32) - 0.99992) <= 1e-5);
}

BOOST_AUTO_TEST_CASE(powers_are_those_of_the_density) {
  for (const bool dither : {false, true})
    for (const unsigned n_bit : {2u, 4u, 8u})
      for (const double rms : {0.3, 1.0, 2.95, 24.0}) {
        Quantiser quantiser = twos_complement(n_bit);
        if (rms > 4 * (quantiser.high + 1)) continue;
        quantiser.dither = dither;
        const double truth = reference::quantised_square(quantiser.low, quantiser.high, dither, rms);
        // measured 1.5e-10 and, of rounding with dither by tables, 1.8e-3; levels 3e-9 and 1.8e-3
        BOOST_TEST(quantised_power(quantiser, rms) == truth,
                   boost::test_tools::tolerance(dither ? 4e-3 : 1e-8));
        const auto level = QuantiserCurve(quantiser).level(truth);
        BOOST_TEST(level.rms == rms, boost::test_tools::tolerance(dither ? 4e-3 : 1e-6));
      }
}

BOOST_AUTO_TEST_CASE(products_are_inverted_for_all_bits_levels_and_correlations) {
  double worst = 0;
  for (const bool dither : {false, true})
    for (const unsigned n_bit : {2u, 3u, 4u, 8u}) {
      Quantiser quantiser = twos_complement(n_bit);
      quantiser.dither = dither;
      const QuantiserCurve curve(quantiser);
      for (const auto& [rms1, rms2] :
           {std::pair{0.4, 0.9}, {1.0, 1.0}, {1.3, 2.95}, {3.0, 3.5}, {12.0, 24.0}}) {
        if (rms2 > 2 * (quantiser.high + 1)) continue;
        if (dither && n_bit == 8) continue;  // the reference takes too long
        const auto level1 = curve.level(quantised_power(quantiser, rms1));
        const auto level2 = curve.level(quantised_power(quantiser, rms2));
        for (const double rho : {1e-4, 0.01, -0.1, 0.5, 0.9, -0.97, 0.995, 1.0}) {
          if (dither && (rho == 0.995 || rho == 0.5)) continue;
          const double q =
              reference::quantised_product(quantiser.low, quantiser.high, dither, rms1, rms2, rho);
          const double found = curve.product(level1, level2, q) / rms1 / rms2;
          // a_0 of the lopsided ends is known to the accuracy of the tables only
          const double error = std::abs(found - rho) / std::max(0.01, std::abs(rho));
          BOOST_TEST_CONTEXT(n_bit << " bits, dither " << dither << ", RMS " << rms1 << " " << rms2
                                   << ", rho " << rho << ", found " << found)
          // at 1, levels that differ leave hardly any slope to invert: measured 1.3e-3, elsewhere 6.8e-4
          BOOST_TEST(error < (rho == 1.0 && rms1 != rms2 ? 3e-3 : 1e-3));
          worst = std::max(worst, error);
          if (dither || std::abs(rho) == 0.01) continue;
          const double opposite =
              reference::quantised_product(quantiser.low, quantiser.high, dither, rms1, rms2, -rho);
          const double odd = curve.product_of_difference(level1, level2, (q - opposite) / 2) / rms1 / rms2;
          // measured 1.1e-3, elsewhere 5.9e-4
          BOOST_TEST(std::abs(odd - rho) <
                     (std::abs(rho) == 1.0 && rms1 != rms2 ? 4e-3 : 1e-3) * std::max(0.01, std::abs(rho)));
        }
      }
    }
  BOOST_TEST_MESSAGE("largest relative error of a correlation " << worst);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_corrected_is_told) {
  const QuantiserCurve curve(twos_complement(4));
  BOOST_TEST(curve.level(0).rms == 0);
  BOOST_TEST(curve.level(NAN).rms == 0);
  BOOST_TEST(curve.level(56).rms == 0);
  BOOST_TEST(curve.level(8.7).rms > 0);
  // more than signals of these levels can share: equal signals
  const auto level = curve.level(8.7);
  BOOST_TEST(curve.product(level, level, 20) == level.rms * level.rms);
  BOOST_TEST(curve.product(level, level, -20) == -level.rms * level.rms);
}

BOOST_AUTO_TEST_SUITE_END()
