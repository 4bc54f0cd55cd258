// SPDX-License-Identifier: GPL-3.0-or-later
// Hits that are gathered into one pulse, and others.
#include "kernels/search/images/pulses.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(pulses)

namespace {

/// Trial i has a delay of 10 i frames over the band.
const std::vector<double> kDelay{0, 10, 20, 30, 40};

PulseRule rule() {
  return {kDelay, 4, 8};
}

PulseHit hit(std::uint32_t trial, std::int64_t begin, std::int64_t width, float sn, std::uint32_t x,
             std::uint32_t y) {
  return {trial, begin, width, sn, x, y, 1, 1, trial, trial, begin, begin + width};
}

}  // namespace

BOOST_AUTO_TEST_CASE(tracks_beams_and_sidelobes) {
  const PulseHit bright = hit(2, 100, 4, 40, 20, 20);
  struct Case {
    const char* what;
    PulseHit weaker;
    bool belongs;
  };
  for (const Case& c : {
           Case{"the next pixel", hit(2, 100, 4, 38, 21, 20), true},
           Case{"a sidelobe at the same time, however bright", hit(2, 101, 4, 39, 60, 5), true},
           Case{"as bright elsewhere at another DM", hit(4, 95, 4, 39, 60, 5), false},
           Case{"half as bright elsewhere on the track", hit(4, 85, 4, 20, 60, 5), true},
           Case{"near, on the track of a higher DM", hit(4, 82, 4, 30, 21, 21), true},
           Case{"near, on the track of a lower DM", hit(0, 121, 4, 30, 21, 21), true},
           Case{"near, before the track", hit(4, 70, 4, 30, 21, 21), false},
           Case{"near, behind the track", hit(0, 130, 4, 30, 21, 21), false},
           Case{"near, too late at the same DM", hit(2, 110, 4, 30, 20, 20), false},
       })
    BOOST_TEST(rule().belongs(c.weaker, bright) == c.belongs, c.what);
}

BOOST_AUTO_TEST_CASE(gathering_adds_up_and_does_not_depend_on_order) {
  std::vector<PulseHit> hits{hit(2, 100, 4, 40, 20, 20), hit(1, 108, 8, 12, 20, 20),
                             hit(3, 92, 6, 15, 21, 20),  hit(2, 100, 4, 9, 60, 40),
                             hit(2, 300, 2, 10, 5, 5),   hit(4, 100, 1, 25, 60, 40)};
  std::mt19937 random(3);
  for (int i = 0; i < 20; ++i) {
    std::shuffle(hits.begin(), hits.end(), random);
    const GatheredPulses gathered = gather_pulses(hits, rule(), 10);
    BOOST_TEST_REQUIRE(gathered.pulses.size() == 3u);
    const PulseHit& first = gathered.pulses[0];
    BOOST_TEST(first.sn == 40);
    BOOST_TEST(first.n_hits == 4u);
    BOOST_TEST(first.n_pixels == 3u);  // the brightest, its neighbour and the sidelobe
    BOOST_TEST(first.first_trial == 1u);
    BOOST_TEST(first.last_trial == 3u);
    BOOST_TEST(first.first == 92);
    BOOST_TEST(first.last == 116);
    BOOST_TEST(gathered.pulses[1].sn == 25);
    BOOST_TEST(gathered.pulses[2].sn == 10);
    BOOST_TEST(gathered.n_dropped == 0u);
  }
  const GatheredPulses fewer = gather_pulses(hits, rule(), 1);
  BOOST_TEST(fewer.pulses.size() == 1u);
  BOOST_TEST(fewer.n_dropped == 2u);
}

BOOST_AUTO_TEST_CASE(nothing_is_related_beyond_the_reach) {
  const std::int64_t reach = rule().reach();
  std::mt19937 random(5);
  for (int i = 0; i < 20000; ++i) {
    const auto any = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    const PulseHit a = hit(any(5), 100, 1 + any(8), 50, any(30), any(30)),
                   b = hit(any(5), 100 + static_cast<std::int64_t>(any(160)) - 80, 1 + any(8), 5, any(30),
                           any(30));
    if (rule().belongs(b, a)) BOOST_TEST_REQUIRE(std::abs(a.begin - b.begin) <= reach);
  }
}

BOOST_AUTO_TEST_SUITE_END()
