// SPDX-License-Identifier: GPL-3.0-or-later
// Where the antennas and the sky are at an image's middle, and which delays are still in the samples.
#include "tools/epic-image/frame.h"

#include <boost/test/unit_test.hpp>

#include <cmath>

#include "libcore/sky/projection.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(frames)

namespace {

const Site kSite{-26.7 * kRadPerDeg, 116.67 * kRadPerDeg, 377};

VoltageHeader header_of() {
  VoltageHeader header;
  header.layout.site = kSite;
  header.layout.antennas = {{"a", {10, -20, 3}, 5e-9, false}, {"b", {-40, 7, -6}, -2e-9, false}};
  return header;
}

UtcTime at_s(double seconds) {
  return from_mjd_seconds(86400.0 * 60310 + seconds);
}

}  // namespace

// Samples as they were recorded have the cables' delays in them; spectra that the F stage aligned have the
// zenith's path taken out of them instead, and the cables too.
BOOST_AUTO_TEST_CASE(cables_count_until_the_antennas_are_aligned_and_then_the_zenith_does) {
  const VoltageHeader header = header_of();
  const EpicGeometry raw = AccumulationFrame(header, false, {}, false, {}).at(at_s(0)),
                     aligned = AccumulationFrame(header, true, {}, false, {}).at(at_s(0));
  BOOST_TEST(std::abs(raw.delay_s[0] - 5e-9) < 1e-18);
  BOOST_TEST(std::abs(raw.delay_s[1] + 2e-9) < 1e-18);
  BOOST_TEST(std::abs(aligned.delay_s[0] - 3 / kSpeedOfLight_m_s) < 1e-18);
  BOOST_TEST(std::abs(aligned.delay_s[1] + 6 / kSpeedOfLight_m_s) < 1e-18);
  BOOST_TEST(raw.enu_m[1][0] == -40);
}

// What a tracked stream has lost is the path towards its phase centre, aligned or not.
BOOST_AUTO_TEST_CASE(tracking_that_was_applied_is_a_delay_towards_the_phase_centre) {
  VoltageHeader header = header_of();
  header.phase_centre = SkyDirection{0.6, -0.2};
  const Vec3 s = SkyFrame(kSite).enu_from_direction(at_s(0), *header.phase_centre);
  for (const bool aligned : {false, true}) {
    const EpicGeometry geometry = AccumulationFrame(header, aligned, {}, false, {}).at(at_s(0));
    for (std::size_t ant = 0; ant < 2; ++ant) {
      const Antenna& antenna = header.layout.antennas[ant];
      double path_m = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) path_m += antenna.enu_m[axis] * s[axis];
      const double cable_s = aligned ? 0 : antenna.cable_delay_s;
      BOOST_TEST(std::abs(geometry.delay_s[ant] - path_m / 299792458.0 - cable_s) < 1e-17);
    }
  }
}

// Spectra that the F stage aligned towards a centre have lost the path from there.
BOOST_AUTO_TEST_CASE(a_centre_is_followed_over_the_sky_and_takes_the_delays_of_aligned_antennas) {
  const VoltageHeader header = header_of();
  const SkyDirection centre = SkyFrame(kSite).zenith(at_s(3600));
  for (const bool aligned : {false, true}) {
    AccumulationFrame frame(header, aligned, centre, false, {});
    for (const double seconds : {0., 1800.}) {
      const EpicGeometry geometry = frame.at(at_s(seconds));
      const Vec3 s = SkyFrame(kSite).enu_from_direction(at_s(seconds), centre);
      BOOST_TEST(separation_rad(frame.centre(), centre) < 1e-12);
      double path_m = 0;
      const Antenna& antenna = header.layout.antennas[1];
      for (std::size_t axis = 0; axis < 3; ++axis) {
        path_m += antenna.enu_m[axis] * s[axis];
        BOOST_TEST(std::abs(geometry.axes[2][axis] - s[axis]) < 1e-9);  // w points at the centre
      }
      BOOST_TEST(std::abs(geometry.delay_s[1] - (aligned ? path_m / 299792458.0 : -2e-9)) < 1e-17);
    }
    BOOST_TEST(!frame.move_to(at_s(3600)));
  }
}

BOOST_AUTO_TEST_CASE(images_follow_the_zenith_unless_all_have_the_centre_of_the_first) {
  const VoltageHeader header = header_of();
  for (const bool one_centre : {false, true}) {
    AccumulationFrame frame(header, false, {}, one_centre, {});
    frame.at(at_s(0));
    const SkyDirection first = frame.centre();
    BOOST_TEST(separation_rad(first, SkyFrame(kSite).zenith(at_s(0))) < 1e-9);
    const EpicGeometry later = frame.at(at_s(3600));  // the sky has turned by 15 degrees of hour angle
    const double moved = separation_rad(first, frame.centre());
    BOOST_TEST(moved == (one_centre ? 0 : moved));
    if (!one_centre) BOOST_TEST(std::abs(moved / (15.04 * kRadPerDeg * std::cos(kSite.lat_rad)) - 1) < 0.01);
    // w points at the centre: to the zenith only where the image follows it.
    BOOST_TEST((later.axes[2][2] > 1 - 1e-9) == !one_centre);
  }
}

BOOST_AUTO_TEST_CASE(an_image_moves_to_another_time_if_nothing_in_it_follows_the_sky) {
  VoltageHeader header = header_of();
  BeamDirection fixed, tracked;
  fixed.enu = {0.6, 0, 0.8};
  tracked.sky = SkyDirection{0.6, -0.2};
  AccumulationFrame free(header, false, {}, false, {fixed});
  BOOST_TEST(free.at(at_s(0)).directions[0] == (Vec3{0.6, 0, 0.8}));
  const SkyDirection before = free.centre();
  BOOST_TEST(free.move_to(at_s(3600)));
  BOOST_TEST(separation_rad(before, free.centre()) > 0.2);

  AccumulationFrame following(header, false, {}, false, {fixed, tracked});
  const EpicGeometry geometry = following.at(at_s(0));
  BOOST_TEST(geometry.directions[1] == SkyFrame(kSite).enu_from_direction(at_s(0), *tracked.sky));
  BOOST_TEST(!following.move_to(at_s(3600)));

  AccumulationFrame first_alone(header, false, {}, true, {});
  first_alone.at(at_s(0));
  BOOST_TEST(first_alone.move_to(at_s(10)));
  first_alone.at(at_s(20));
  BOOST_TEST(!first_alone.move_to(at_s(30)));  // the centre is that of the images before

  header.phase_centre = SkyDirection{0.6, -0.2};
  AccumulationFrame undone(header, false, {}, false, {});
  undone.at(at_s(0));
  BOOST_TEST(!undone.move_to(at_s(10)));
}

BOOST_AUTO_TEST_SUITE_END()
