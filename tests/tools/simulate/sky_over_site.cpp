// SPDX-License-Identifier: GPL-3.0-or-later
// The sky model over the array: directions, TEC along rays, what is said of sources.
#include "tools/simulate/sky_over_site.h"

#include <boost/test/unit_test.hpp>

#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/sky/projection.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(sky_over_site)

namespace {

const Site kSite{-26.7 * kRadPerDeg, 116.67 * kRadPerDeg, 377};
const UtcTime kStart = from_mjd_seconds(86400.0 * 60310);

/// A layer at 300 km, 400 km wide: TEC rises to the east; the second step has three times as much. Steps of
/// 10 s from kStart on.
IonosphereGrid slope() {
  IonosphereGrid grid;
  grid.height_m = 300e3;
  grid.east_m = grid.north_m = -200e3;
  grid.step_east_m = grid.step_north_m = 20e3;
  grid.time_mjd_s = kStart.mjd_seconds() + 5;
  grid.step_s = 10;
  grid.tec_tecu.resize({2, 21, 21});
  for (std::size_t step = 0; step < 2; ++step)
    for (std::size_t y = 0; y < 21; ++y)
      for (std::size_t x = 0; x < 21; ++x)
        grid.tec_tecu(step, y, x) = (step == 0 ? 1 : 3) * (10 + 0.1 * static_cast<double>(x));
  return grid;
}

Scene scene_of(const std::vector<SkyDirection>& directions) {
  Scene scene;
  scene.start = kStart;
  scene.layout.site = kSite;
  scene.layout.antennas = {{"a", {0, 0, 0}, 0, false}, {"b", {40e3, 0, 0}, 0, false}};
  for (const SkyDirection& direction : directions) {
    SkyComponent component;
    component.name = "s" + std::to_string(scene.sky.components.size());
    component.direction = direction;
    scene.sky.components.push_back(component);
  }
  return scene;
}

}  // namespace

// At the zenith an antenna sees the column above itself: 10 TECU 200 km to the west, 0.1 more every 20 km
// (the layer is a sphere: 40 km away a vertical line leans by 0.36 deg at the layer, 2e-5 of the column).
BOOST_AUTO_TEST_CASE(an_antenna_sees_the_column_above_itself_in_the_step_of_the_time) {
  const IonosphereScreen screen(slope(), "screen");
  const std::vector<Antenna> antennas = scene_of({}).layout.antennas;
  for (const std::size_t step : {0, 1}) {
    const Buffer<double, 2> tec = tec_along_rays(screen, step, antennas, {{0, 0, 1}});
    const double times = step == 0 ? 1 : 3;
    BOOST_TEST(std::abs(tec(0, 0) - 11 * times) < 1e-9);
    BOOST_TEST(std::abs(tec(0, 1) - 11.2 * times) < 1e-3 * times);
  }
}

// A source that has set has what is at the horizon, where nothing is thrown; one that is up needs the grid.
BOOST_AUTO_TEST_CASE(directions_below_the_horizon_are_continued_and_those_above_need_the_screen) {
  const IonosphereScreen screen(slope(), "screen");
  const std::vector<Antenna> antennas = scene_of({}).layout.antennas;
  const Vec3 low{std::cos(0.05), 0, std::sin(0.05)};  // meets the layer beyond the grid
  BOOST_CHECK_THROW(tec_along_rays(screen, 0, antennas, {low}), DataError);
  const Vec3 below{1, 0, -0.1}, at{0.8, 0, 0.6};  // at: 400 km to the east, beyond the grid, too
  BOOST_CHECK_THROW(tec_along_rays(screen, 0, antennas, {below, at}), DataError);
  const Buffer<double, 2> tec = tec_along_rays(screen, 0, antennas, {below, {0, 0, 1}});
  BOOST_TEST(tec(0, 0) == screen.extended_tec(antennas[0].enu_m, below, 0));
  BOOST_TEST(std::abs(tec(1, 0) - 11) < 1e-9);
}

BOOST_AUTO_TEST_CASE(a_block_has_the_screen_of_its_middle_or_of_the_end_of_the_recording) {
  const auto seconds = [](std::int64_t block) {
    return seconds_between(kStart, middle_of_block(kStart, 0.25, block, 8, 36));
  };
  BOOST_TEST(seconds(0) == 1);
  BOOST_TEST(seconds(1) == 3);
  BOOST_TEST(seconds(3) == 7);
  BOOST_TEST(seconds(4) == 9);  // its middle is the end, 36 samples from the start
  BOOST_TEST(seconds(5) == 9);
}

BOOST_AUTO_TEST_CASE(rotations_are_those_of_each_component_at_the_time) {
  const SkyFrame frame(kSite);
  const SkyDirection zenith = frame.zenith(kStart), beside = unproject(zenith, 0.05, 0.02);
  Scene scene = scene_of({zenith, beside});
  scene.ionosphere.emplace(slope(), "screen");
  for (const double seconds : {1.0, 12.0}) {
    const UtcTime time = sample_time(kStart, 1, seconds);
    const simulate::SkyRotations rotations = sky_rotations(frame, time, scene, beside);
    BOOST_TEST_REQUIRE(rotations.component.size() == 2u);
    BOOST_TEST(rotations.phase_centre == frame.uvw_rotation(time, beside));
    BOOST_TEST(rotations.component[0] == frame.uvw_rotation(time, zenith));
    BOOST_TEST(rotations.component[1] == frame.uvw_rotation(time, beside));
    const double expected = seconds < 10 ? 11 : 33;  // a second turns the sky by 70 m at the layer
    BOOST_TEST(std::abs(rotations.tec_tecu(0, 0) / expected - 1) < 1e-3);
    // A source 0.05 to the east is seen 15 km to the east of the zenith, through the layer at a slant.
    BOOST_TEST(std::abs(rotations.tec_tecu(1, 0) / (expected * (1 + 0.075 / 11) * (1 + 0.0029 / 2 * 0.92)) -
                        1) < 2e-3);
  }
}

// TEC that rises by 0.1 TECU in 20 km, through which a source moves at the rate of the sky's rotation:
// 7.29e-5 cos(dec) rad/s times 300 km to the west. Twice as fast is allowed for.
BOOST_AUTO_TEST_CASE(the_fastest_change_of_phase_is_that_of_the_sky_behind_the_slope) {
  const SkyFrame frame(kSite);
  Scene scene = scene_of({frame.zenith(kStart)});
  IonosphereGrid still = slope();
  still.step_s = 100;
  still.tec_tecu = Buffer<double, 3>({1, 21, 21});
  for (std::size_t y = 0; y < 21; ++y)
    for (std::size_t x = 0; x < 21; ++x) still.tec_tecu(0, y, x) = 10 + 0.1 * static_cast<double>(x);
  scene.ionosphere.emplace(still, "screen");
  std::vector<simulate::Emitter> emitters(1);
  emitters[0].direction = scene.sky.components[0].direction;
  const double rate = ionosphere_rate_rad_s(frame, scene, emitters, 16, 100e6);
  const double tecu_s = 0.1 / 20e3 * 300e3 * kEarthRotation_rad_s * std::cos(kSite.lat_rad);
  BOOST_TEST(std::abs(rate / (2 * 8.44797245e9 * tecu_s / 100e6) - 1) < 0.05);
  BOOST_TEST(std::abs(ionosphere_rate_rad_s(frame, scene, emitters, 16, 200e6) / rate - 0.5) < 1e-9);
}

BOOST_AUTO_TEST_CASE(what_is_below_the_horizon_is_counted_and_nothing_at_all_is_refused) {
  const SkyFrame frame(kSite);
  const SkyDirection up = frame.zenith(kStart), down{up.ra_rad + kPi, -up.dec_rad};
  BOOST_CHECK_NO_THROW(check_horizon(frame, kStart, scene_of({up, down}), 0));
  BOOST_CHECK_NO_THROW(check_horizon(frame, kStart, scene_of({down}), 100));
  BOOST_CHECK_THROW(check_horizon(frame, kStart, scene_of({down}), 0), UsageError);
  BOOST_CHECK_THROW(check_horizon(frame, kStart, scene_of({}), 0), UsageError);

  std::vector<simulate::Emitter> emitters(2);
  emitters[0].direction = up;
  emitters[1].direction = down;
  const std::vector<Vec3> directions = emitter_directions(frame, kStart, emitters);
  BOOST_TEST(std::abs(directions[0][2] - 1) < 1e-9);
  BOOST_TEST(directions[1][2] < -0.99);
}

BOOST_AUTO_TEST_CASE(a_source_is_described_by_its_flux_and_its_elevation) {
  const SkyFrame frame(kSite);
  Scene scene = scene_of({unproject(frame.zenith(kStart), std::sin(20 * kRadPerDeg), 0)});
  scene.sky.components[0].stokes_jy = {12.5, 0, 0, 0};
  const std::vector<std::string> lines = describe_sky(frame, kStart, scene.sky, 150e6);
  BOOST_TEST_REQUIRE(lines.size() == 1u);
  BOOST_TEST(lines[0].starts_with("s0: 12.5 Jy at "));
  const double elevation_deg = std::stod(lines[0].substr(lines[0].find("elevation") + 9));
  BOOST_TEST(std::abs(elevation_deg - 70) < 0.02);  // aberration moves a source by 0.006 deg
}

BOOST_AUTO_TEST_SUITE_END()
