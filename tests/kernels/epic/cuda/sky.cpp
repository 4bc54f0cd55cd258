// SPDX-License-Identifier: GPL-3.0-or-later
// The pixels that are sky, on the device: engines plan anew only when these become others.
#include "kernels/epic/cuda/sky.cuh"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "libcore/array/array_layout.h"
#include "tests/support/epic/comparison.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(sky)

BOOST_AUTO_TEST_CASE(the_sky_that_turns_about_the_zenith_stays_in_its_pixels) {
  EpicCase c;
  c.enu_m = random_array(9, 40, 5, 0.2, 9);
  const EpicRecording recording(c);
  const EpicPlan plan = all_sky(recording, 40);
  epic_cuda::DeviceSky sky(plan);
  EpicGeometry geometry = recording.geometry;
  BOOST_TEST(sky.move_to(geometry));
  const std::size_t first = sky.version();
  for (const double angle : {1e-6, 0.1, 0.5}) {
    geometry.axes[0] = {std::cos(angle), std::sin(angle), 0};
    geometry.axes[1] = {-std::sin(angle), std::cos(angle), 0};
    BOOST_TEST(sky.move_to(geometry));
    BOOST_TEST(sky.version() == first);
    BOOST_TEST(!sky.move_to(geometry));
    const Vec3 unit = epic_direction(plan, geometry, sky.pixels().index[7] % 40, sky.pixels().index[7] / 40);
    BOOST_TEST(sky.pixels().unit(7, 0) == unit[0]);
  }
  const double tilt = 0.2;
  geometry.axes[1] = {0, std::cos(tilt), std::sin(tilt)};
  geometry.axes[2] = {0, -std::sin(tilt), std::cos(tilt)};
  geometry.axes[0] = {1, 0, 0};
  BOOST_TEST(sky.move_to(geometry));
  BOOST_TEST(sky.version() != first);
}

BOOST_AUTO_TEST_SUITE_END()
