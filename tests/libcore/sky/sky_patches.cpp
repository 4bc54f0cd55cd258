// SPDX-License-Identifier: GPL-3.0-or-later
// Sky models by their patches.
#include "libcore/sky/sky_patches.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(sky_patches)

BOOST_AUTO_TEST_CASE(components_come_together_in_their_patches) {
  const std::vector<SkyPatch> patches = parse_sky_patches(
      "Format = Name, Type, Patch, Ra, Dec, I\n"
      ", , east, 30deg, 10deg\n"  // where DP3 says that the patch lies
      "a, POINT, east, 30deg, 10deg, 3\n"
      "b, POINT, north, 359deg, 0deg, 1\n"
      "c, POINT, east, 34deg, 10deg, 1\n"
      "d, POINT, north, 1deg, 0deg, 1\n",
      "sky.txt");
  BOOST_TEST_REQUIRE(patches.size() == 2u);
  BOOST_TEST((patches[0].name == "east" && patches[1].name == "north"));
  BOOST_TEST_REQUIRE(patches[0].sky.components.size() == 2u);
  BOOST_TEST(patches[0].sky.components[1].name == "c");
  // By flux, and across 0 h.
  BOOST_TEST(std::abs(patches[0].direction.ra_rad / kRadPerDeg - 31) < 0.01);
  const double ra = std::remainder(patches[1].direction.ra_rad, kTwoPi);
  BOOST_TEST(std::abs(ra) < 1e-12);
}

BOOST_AUTO_TEST_CASE(a_component_without_a_patch_is_refused) {
  BOOST_CHECK_THROW(
      parse_sky_patches("Format = Name, Type, Ra, Dec, I\na, POINT, 1deg, 2deg, 3\n", "sky.txt"), DataError);
  BOOST_CHECK_THROW(parse_sky_patches("a, POINT, 1deg, 2deg, 3\n", "sky.txt"), DataError);
}

BOOST_AUTO_TEST_SUITE_END()
