// SPDX-License-Identifier: GPL-3.0-or-later
// Delays between the tracker's nodes against directions asked for one by one; signs, cables, what was
// applied.
#include "libcore/measures/delay_tracker.h"

#include <boost/test/unit_test.hpp>

#include <cmath>

#include "libcore/base/constants.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(delay_tracker)

namespace {

ArrayLayout layout_of_three() {
  ArrayLayout layout;
  layout.site = Site{-26.7 * kRadPerDeg, 116.67 * kRadPerDeg, 377};
  layout.antennas.resize(3);
  layout.antennas[0].enu_m = {0, 0, 0};
  layout.antennas[1].enu_m = {30000, -12000, 150};
  layout.antennas[2].enu_m = {-40, 70, 2};
  layout.antennas[2].cable_delay_s = 40e-9;
  return layout;
}

UtcTime later(const UtcTime& start, double t_s) {
  return add_picoseconds(start, static_cast<__int128>(std::llround(t_s * 1e12)));
}

}  // namespace

BOOST_AUTO_TEST_CASE(delays_follow_the_direction) {
  const ArrayLayout layout = layout_of_three();
  const UtcTime start = parse_utc("2024-01-01T12:00:00");
  const SkyFrame frame(*layout.site);
  const SkyDirection centre = parse_sky_direction("03h30m00s -20d00m00s");
  const SkyDirection applied = parse_sky_direction("02h30m00s -26d00m00s");
  for (const bool tracked : {false, true}) {
    DelayTarget target{centre, {}};
    if (tracked) target.applied = applied;
    DelayTracker tracker(layout, start, target);
    BOOST_TEST(!tracker.nothing_to_do());
    double worst_s = 0;
    // forwards in time, as blocks come, with a reach before the start
    for (double t_s = -0.01; t_s < 65; t_s += 1.37) {
      tracker.prepare(t_s - 1e-3, t_s + 2e-3);
      for (const double at_s : {t_s - 1e-3, t_s, t_s + 2e-3}) {
        Vec3 step = frame.enu_from_direction(later(start, at_s), centre);
        if (tracked) step = step - frame.enu_from_direction(later(start, at_s), applied);
        for (const std::size_t ant : {1, 2}) {
          const double truth_s =
              dot(layout.antennas[ant].enu_m - layout.antennas[0].enu_m, step) / kSpeedOfLight_m_s -
              layout.antennas[ant].cable_delay_s;
          const double delay_s = tracker.delay_s(ant, at_s) - tracker.delay_s(0, at_s);
          worst_s = std::max(worst_s, std::abs(delay_s - truth_s));
          BOOST_TEST(std::abs(tracker.delay_s(ant, at_s)) <= tracker.max_delay_s());
        }
      }
    }
    BOOST_TEST_MESSAGE("worst delay error " << worst_s << " s");
    // 1e-15 s is 1e-5 rad at 1.6 GHz; 32 km of baseline is 1e-4 s, so double precision allows 2e-20
    BOOST_TEST(worst_s < 1e-15);
  }
}

BOOST_AUTO_TEST_CASE(without_a_centre_only_heights_and_cables_count) {
  ArrayLayout layout = layout_of_three();
  const UtcTime start = parse_utc("2024-01-01T12:00:00");
  DelayTracker drift(layout, start, {});
  BOOST_TEST(!drift.nothing_to_do());
  drift.prepare(0, 1);
  BOOST_TEST(drift.delay_s(1, 0.5) - drift.delay_s(0, 0.5) == 150 / kSpeedOfLight_m_s,
             boost::test_tools::tolerance(1e-12));
  BOOST_TEST(drift.delay_s(2, 0.5) - drift.delay_s(0, 0.5) == 2 / kSpeedOfLight_m_s - 40e-9,
             boost::test_tools::tolerance(1e-12));
  DelayTracker tracked(layout, start, {{}, SkyDirection{0.1, -0.2}});
  tracked.prepare(0, 1);
  BOOST_TEST(tracked.delay_s(1, 0.5) - tracked.delay_s(0, 0.5) == 0.0);
  BOOST_TEST(tracked.delay_s(2, 0.5) - tracked.delay_s(0, 0.5) == -40e-9,
             boost::test_tools::tolerance(1e-12));
  for (Antenna& antenna : layout.antennas) {
    antenna.enu_m[2] = 377;
    antenna.cable_delay_s = 0;
  }
  BOOST_TEST(DelayTracker(layout, start, {}).nothing_to_do());
}

BOOST_AUTO_TEST_SUITE_END()
