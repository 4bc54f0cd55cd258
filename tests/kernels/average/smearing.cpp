// SPDX-License-Identifier: GPL-3.0-or-later
// How much amplitude an interval loses, against the mean of phases in float64, and how fast phases turn,
// against the geometry of a rotating Earth.
#include "kernels/average/smearing.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

using namespace apsyn::average;

BOOST_AUTO_TEST_SUITE(smearing)

namespace {

constexpr double kPi = std::numbers::pi, kLight_m_s = 299792458.0, kOmega_rad_s = 7.292115e-5;

/// u, v, w of a baseline X, Y, Z (towards hour angle 0, east, north) at an hour angle, as the textbooks have
/// it.
std::array<double, 3> uvw_at(const std::array<double, 3>& xyz, double hour_rad, double dec_rad) {
  const double sh = std::sin(hour_rad), ch = std::cos(hour_rad), sd = std::sin(dec_rad),
               cd = std::cos(dec_rad);
  return {sh * xyz[0] + ch * xyz[1], -sd * ch * xyz[0] + sd * sh * xyz[1] + cd * xyz[2],
          cd * ch * xyz[0] - cd * sh * xyz[1] + sd * xyz[2]};
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_mean_over_so_many_turns_loses_that_share) {
  for (const double loss : {1e-4, 0.01, 0.1, 0.4}) {
    const double turns = turns_of_loss(loss);
    std::complex<double> sum = 0;
    constexpr int n = 100000;
    for (int i = 0; i < n; ++i) sum += std::polar(1.0, 2 * kPi * turns * ((i + 0.5) / n - 0.5));
    BOOST_TEST(std::abs(1 - std::abs(sum) / n - loss) <= 1e-9);
  }
}

BOOST_AUTO_TEST_CASE(the_rate_is_that_of_the_worst_position_angle) {
  const double radius = 0.05, freq_hz = 150e6;
  for (const double dec : {-0.5, 0.0, 1.2})
    for (const double hour : {-1.0, 0.3}) {
      const std::array<double, 3> xyz{800, -2000, 500};
      double worst = 0;
      for (int k = 0; k < 3600; ++k) {
        const double angle = 2 * kPi * k / 3600, l = std::sin(radius) * std::cos(angle),
                     m = std::sin(radius) * std::sin(angle), n_1 = std::cos(radius) - 1;
        const double step = 1e-5;  // rad of hour angle
        const auto before = uvw_at(xyz, hour - step, dec), after = uvw_at(xyz, hour + step, dec);
        double turns = 0;
        for (int i = 0; i < 3; ++i)
          turns +=
              (after[static_cast<std::size_t>(i)] - before[static_cast<std::size_t>(i)]) * (i == 0   ? l
                                                                                            : i == 1 ? m
                                                                                                     : n_1);
        worst = std::max(worst, std::abs(turns) * freq_hz / kLight_m_s / (2 * step / kOmega_rad_s));
      }
      const double rate = fringe_rate_hz(uvw_at(xyz, hour, dec), dec, radius, freq_hz);
      // The bound adds the w term as if its sign were the worst for every angle: a share radius / 2 of it.
      BOOST_TEST(rate >= worst * (1 - 1e-6));
      BOOST_TEST(rate <= worst * (1 + radius));
      // The sign of UVW is of no account.
      const auto uvw = uvw_at(xyz, hour, dec);
      BOOST_TEST(std::abs(fringe_rate_hz({-uvw[0], -uvw[1], -uvw[2]}, dec, radius, freq_hz) - rate) <=
                 1e-12 * rate);
    }
}

BOOST_AUTO_TEST_SUITE_END()
