// SPDX-License-Identifier: GPL-3.0-or-later
// Lists of clean components, read back as sky models.
#include "tools/clean/source_list.h"

#include <boost/test/unit_test.hpp>

#include <cmath>

#include "libcore/sky/projection.h"
#include "libcore/sky/sky_model.h"
#include "tests/reference/scratch.h"

using namespace apsyn;
using namespace apsyn::clean;

BOOST_AUTO_TEST_SUITE(source_list)

// A point north-east of the centre and a scale south-west of it; fluxes of two groups are averaged.
BOOST_AUTO_TEST_CASE(components_are_where_their_pixels_are) {
  const reference::Scratch scratch;
  ImageInfo info;
  info.centre = {1.2, 0.4};
  info.cell_rad = 1e-4;
  info.unit = "JY/PIXEL";
  const PlaneShape shape{1, 80, 100};
  const std::vector<DeconvolutionGroup> groups{{140e6, 1}, {160e6, 3}};
  const std::vector<ModelComponent> components{{30, 55, 0, {2, 6}}, {62, 11, 12, {1, 1}}};
  write_source_list(scratch.path("sources.txt"), components, info, shape, groups, {}, false);
  const SkyModel sky = read_sky_model(scratch.path("sources.txt"));
  BOOST_TEST_REQUIRE(sky.components.size() == 2u);
  const SkyDirection expected[] = {unproject(info.centre, 20e-4, 15e-4),
                                   unproject(info.centre, -12e-4, -29e-4)};
  for (std::size_t i = 0; i < 2; ++i)  // written to 1e-6 s and 1e-5 arcsec
    BOOST_TEST(separation_rad(sky.components[i].direction, expected[i]) < 2e-10);
  BOOST_TEST(std::abs(sky.components[0].stokes_jy[0] - 5) < 1e-9);
  BOOST_TEST(std::abs(sky.components[1].stokes_jy[0] - 1) < 1e-9);
  BOOST_TEST(sky.components[0].major_rad == 0);
  // The Gaussian with the second moment of a tapered quadratic 12 pixels wide: sigma is 0.1672 of the width.
  const double fwhm_rad = std::sqrt(8 * std::log(2.0)) * 0.1672 * 12e-4;
  BOOST_TEST(std::abs(sky.components[1].major_rad / fwhm_rad - 1) < 1e-5);
  BOOST_TEST(std::abs(sky.components[1].minor_rad / fwhm_rad - 1) < 1e-5);
}

BOOST_AUTO_TEST_SUITE_END()
