// SPDX-License-Identifier: GPL-3.0-or-later
// What an array's size and cables ask of the recording: lengths worked out by hand.
#include "libcore/voltage/array_delays.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(array_delays)

namespace {

constexpr double kMicrosecond_m = 1e-6 * kSpeedOfLight_m_s;

/// Three antennas, of which the outer two stand 5 microseconds of light apart; the middle one is flagged.
ArrayLayout three_antennas() {
  ArrayLayout layout;
  layout.antennas = {{"a", {0, 0, 0}, 0, false},
                     {"b", {kMicrosecond_m, 0, 0}, 0, true},
                     {"c", {3 * kMicrosecond_m, -4 * kMicrosecond_m, 0}, 0, false}};
  return layout;
}

}  // namespace

BOOST_AUTO_TEST_CASE(baselines_and_fringes_are_those_of_the_whole_array) {
  ArrayLayout layout = three_antennas();
  BOOST_TEST(std::abs(longest_baseline_m(layout) / kMicrosecond_m - 5) < 1e-14);
  // a box of 3 by 4 microseconds, 500 wavelengths across
  BOOST_TEST(std::abs(finest_fringe_rad(layout, 1e8) * 500 - 1) < 1e-14);
  layout.antennas.resize(1);
  BOOST_TEST(longest_baseline_m(layout) == 0);
  BOOST_TEST(finest_fringe_rad(layout, 1e8) == std::numeric_limits<double>::infinity());
}

// Twice the longest baseline and the longest cable, of either sign: 10 + 2.5 microseconds.
BOOST_AUTO_TEST_CASE(delays_reach_over_baselines_and_cables) {
  VoltageHeader header;
  header.sample_s = 0.3e-6;
  ArrayLayout layout = three_antennas();
  BOOST_TEST(delay_reach(header, layout) == 2 * 33 + 4);
  layout.antennas[0].cable_delay_s = 1e-6;
  layout.antennas[2].cable_delay_s = -2.5e-6;
  BOOST_TEST(delay_reach(header, layout) == 2 * 41 + 4);
  header.n_dim = 2;
  BOOST_TEST(range_margin(header, layout, 64, 8) == 86 + 512);
  header.n_dim = 1;  // twice as many real samples in a spectrum
  BOOST_TEST(range_margin(header, layout, 64, 8) == 86 + 1024);
  header.sample_s = 1e-15;
  BOOST_CHECK_THROW(delay_reach(header, layout), UsageError);
}

BOOST_AUTO_TEST_CASE(phases_that_turn_lose_amplitude) {
  BOOST_TEST(winding_loss(0) == 0);
  BOOST_TEST(std::abs(winding_loss(0.5) - (1 - 2 / kPi)) < 1e-15);
  BOOST_TEST(std::abs(winding_loss(1) - 1) < 1e-15);
  // The series takes over from the quotient without a step: (pi turns)^2 / 6.
  for (const double turns : {3.1e-5, 3.3e-5})
    BOOST_TEST(std::abs(winding_loss(turns) / (kPi * kPi * turns * turns / 6) - 1) < 1e-6);
}

BOOST_AUTO_TEST_SUITE_END()
