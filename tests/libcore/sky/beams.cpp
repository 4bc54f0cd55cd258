// SPDX-License-Identifier: GPL-3.0-or-later
// Patterns of apertures and dipoles where their values are known.
#include "libcore/sky/beams.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "libcore/base/constants.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(beams)

// sin(2 pi h sin(elevation)), h in wavelengths: over its value at the zenith below a quarter of a wavelength,
// as it is from there on.
BOOST_AUTO_TEST_CASE(low_dipoles_are_normalised_at_the_zenith) {
  constexpr double freq_hz = kSpeedOfLight_m_s / 2;  // a wavelength of 2 m
  const auto at = [&](double height_wavelengths, double sin_elevation) {
    return ground_plane_voltage(sin_elevation, 2 * height_wavelengths, freq_hz);
  };
  const auto sine = [](double turns) { return std::sin(kTwoPi * turns); };
  constexpr double rounding = 1e-14;
  BOOST_CHECK_SMALL(at(0.1, 0.5) - sine(0.05) / sine(0.1), rounding);
  BOOST_CHECK_SMALL(at(0.24, 1) - 1, rounding);
  BOOST_CHECK_SMALL(at(0.3, 1) - sine(0.3), rounding);
  BOOST_CHECK_SMALL(at(0.3, 0.5) - sine(0.15), rounding);
  BOOST_CHECK_SMALL(at(0.45, 1) - sine(0.45), rounding);
  BOOST_CHECK_SMALL(at(0.8, 0.5) - sine(0.4), rounding);
  BOOST_CHECK_EQUAL(at(0.1, 0), 0);
  BOOST_CHECK_EQUAL(at(0.1, -0.5), 0);
}

// The first zero of J1 lies at 3.8317; J1(2) = 0.5767248.
BOOST_AUTO_TEST_CASE(round_apertures_have_the_airy_pattern) {
  constexpr double freq_hz = 150e6, diameter_m = 10;
  const double per_x = kSpeedOfLight_m_s / (kPi * diameter_m * freq_hz);
  BOOST_CHECK_EQUAL(airy_voltage(0, diameter_m, freq_hz), 1);
  BOOST_CHECK_SMALL(airy_voltage(2 * per_x, diameter_m, freq_hz) - 0.57672480775687, 1e-13);
  BOOST_CHECK_SMALL(airy_voltage(-3.83170597020751 * per_x, diameter_m, freq_hz), 1e-14);
  // The series takes over from the quotient without a step.
  BOOST_CHECK_SMALL(airy_voltage(0.0099999 * per_x, diameter_m, freq_hz) -
                        airy_voltage(0.0100001 * per_x, diameter_m, freq_hz),
                    6e-9);
  BOOST_CHECK_CLOSE(1 - airy_voltage(0.005 * per_x, diameter_m, freq_hz), 0.005 * 0.005 / 8, 1e-3);
}

BOOST_AUTO_TEST_CASE(gaussians_have_half_their_power_at_half_their_width) {
  BOOST_CHECK_SMALL(std::pow(gaussian_voltage(0.05, 0.1), 2) - 0.5, 1e-15);
  BOOST_CHECK_SMALL(std::pow(gaussian_voltage(-0.1, 0.1), 2) - 1.0 / 16, 1e-15);
}

BOOST_AUTO_TEST_SUITE_END()
