// SPDX-License-Identifier: GPL-3.0-or-later
// Delays towards beams, against directions converted one by one and against DelayTracker.
#include "libcore/measures/beam_tracker.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <vector>

#include "libcore/base/constants.h"
#include "libcore/measures/delay_tracker.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(beam_tracker)

namespace {

ArrayLayout layout_of_four() {
  ArrayLayout layout;
  layout.site = Site{-0.4660608448386394, 2.0362898668561042, 377.83};
  layout.antennas = {{"a", {0, 0, 0}, 0, false},
                     {"b", {1500, -700, 12}, 0, false},
                     {"c", {-900, 1100, 2}, 40e-9, false},
                     {"d", {2000, 1400, 0}, 0, false}};
  return layout;
}

const UtcTime kStart = parse_utc("2024-01-01T12:00:00");
const SkyDirection kSky{0.6, -0.45}, kApplied{0.7, -0.5};
const Vec3 kFixed{0.3, -0.2, std::sqrt(1 - 0.13)};

std::vector<BeamDirection> two_beams() {
  return {{"sky", kSky, {}, ""}, {"ground", {}, kFixed, ""}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(delays_are_those_of_the_direction) {
  const ArrayLayout layout = layout_of_four();
  const std::size_t origin = reference_antenna(layout);
  BOOST_TEST(origin == 0u);
  for (const bool tracked : {false, true}) {
    const std::optional<SkyDirection> applied = tracked ? std::optional(kApplied) : std::nullopt;
    BeamTracker tracker(layout, kStart, two_beams(), applied, false);
    BOOST_TEST(tracker.reference() == nullptr);
    const SkyFrame frame(*layout.site);
    double worst_s = 0;
    for (double t_s : {0.0, 3.3, 17.9, 64.2}) {
      tracker.prepare(t_s, t_s + 1);
      const UtcTime time = add_picoseconds(kStart, static_cast<__int128>(std::llround(t_s * 1e12)));
      for (std::size_t beam = 0; beam < 2; ++beam) {
        Vec3 s = beam == 0 ? frame.enu_from_direction(time, kSky) : kFixed;
        if (tracked) s = s - frame.enu_from_direction(time, kApplied);
        std::vector<double> delay_s(4);
        tracker.delays_s(beam, t_s, delay_s);
        for (std::size_t ant = 0; ant < 4; ++ant) {
          const double wanted_s =
              dot(layout.antennas[ant].enu_m, s) / kSpeedOfLight_m_s - layout.antennas[ant].cable_delay_s;
          worst_s = std::max(worst_s, std::abs(delay_s[ant] - wanted_s));
        }
      }
    }
    BOOST_TEST_MESSAGE("worst delay error " << worst_s << " s");
    BOOST_TEST(worst_s < 1e-18);  // 2e-16 of 2400 m
  }
}

BOOST_AUTO_TEST_CASE(what_is_aligned_and_what_is_left_make_the_whole) {
  const ArrayLayout layout = layout_of_four();
  BeamTracker whole(layout, kStart, two_beams(), kApplied, false);
  BeamTracker parts(layout, kStart, two_beams(), kApplied, true);
  DelaySource& reference = *parts.reference();
  whole.prepare(0, 30);
  parts.prepare(0, 30);
  reference.prepare(0, 30);
  for (double t_s : {0.0, 12.5, 29.0})
    for (std::size_t beam = 0; beam < 2; ++beam) {
      std::vector<double> a(4), b(4);
      whole.delays_s(beam, t_s, a);
      parts.delays_s(beam, t_s, b);
      for (std::size_t ant = 0; ant < 4; ++ant) {
        BOOST_TEST(std::abs(a[ant] - b[ant] - reference.delay_s(ant, t_s)) < 1e-20);
        BOOST_TEST(std::abs(reference.delay_s(ant, t_s)) <= reference.max_delay_s());
      }
    }
  // one beam is aligned entirely, as DelayTracker does
  BeamTracker one(layout, kStart, {{"sky", kSky, {}, ""}}, {}, true);
  DelayTracker tracker(layout, kStart, {kSky, {}});
  one.prepare(0, 20);
  one.reference()->prepare(0, 20);
  tracker.prepare(0, 20);
  for (std::size_t ant = 0; ant < 4; ++ant) {
    std::vector<double> rest(4);
    one.delays_s(0, 13.7, rest);
    BOOST_TEST(rest[ant] == 0.0);
    BOOST_TEST(std::abs(one.reference()->delay_s(ant, 13.7) - tracker.delay_s(ant, 13.7)) < 1e-20);
  }
}

BOOST_AUTO_TEST_CASE(rates_are_bounds) {
  const ArrayLayout layout = layout_of_four();
  BOOST_TEST(BeamTracker(layout, kStart, {{"ground", {}, kFixed, ""}}, {}, false).max_rate() == 0.0);
  for (const bool align : {false, true}) {
    BeamTracker tracker(layout, kStart, two_beams(), kApplied, align);
    tracker.prepare(0, 30);
    double fastest = 0;
    for (double t_s = 0; t_s < 29; t_s += 1)
      for (std::size_t beam = 0; beam < 2; ++beam) {
        std::vector<double> now(4), later(4);
        tracker.delays_s(beam, t_s, now);
        tracker.delays_s(beam, t_s + 1, later);
        for (std::size_t ant = 0; ant < 4; ++ant)
          fastest = std::max(fastest, std::abs(later[ant] - now[ant]));
      }
    BOOST_TEST(fastest > 0.0);
    BOOST_TEST(fastest < tracker.max_rate());
  }
}

BOOST_AUTO_TEST_SUITE_END()
