// SPDX-License-Identifier: GPL-3.0-or-later
// The antennas that a list names, and the directions of the beams of a field.
#include "tools/beamform/beams.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/sky/projection.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(beams)

namespace {

/// Two antennas, 9.8 wavelengths apart along the east.
VoltageHeader pair_of_antennas() {
  VoltageHeader header;
  header.freq_hz = kSpeedOfLight_m_s / 2;  // 2 m
  header.n_ant = 2;
  header.layout.site = Site{-0.46, 2.03, 377};
  header.layout.antennas = {{"a", {-10, 3, 0}, 0, false}, {"b", {9.6, 3, 0}, 0, false}};
  return header;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_list_chooses_antennas_and_flagged_ones_stay_out) {
  ArrayLayout layout;
  layout.antennas = {{"a", {}, 0, false}, {"b", {}, 0, true}, {"c", {}, 0, false}, {"d", {}, 0, false}};
  using Members = std::vector<std::uint8_t>;
  BOOST_TEST(antennas_of(layout, "") == Members({1, 0, 1, 1}), boost::test_tools::per_element());
  BOOST_TEST(antennas_of(layout, "c,b") == Members({0, 0, 1, 0}), boost::test_tools::per_element());
  BOOST_TEST(antennas_of(layout, "0,d") == Members({1, 0, 0, 1}), boost::test_tools::per_element());
  BOOST_CHECK_THROW(antennas_of(layout, "e"), UsageError);
}

// The power of two antennas b wavelengths apart is cos^2(pi b l): half of it is left at l = 1 / (4 b), the
// middle between beams 1 / (2 b) apart. Across, the pair resolves nothing. Half of a field of 60 degrees ends
// at l = sin(30 deg) = 0.5, between the 9th and the 10th beam.
BOOST_AUTO_TEST_CASE(a_field_is_covered_to_its_edge_with_beams_that_overlap_as_wanted) {
  const VoltageHeader header = pair_of_antennas();
  BeamformOptions options;
  options.centre = "zenith";
  options.tile_rad = 60 * kRadPerDeg;
  std::vector<BeamDirection> made = tile(options, header);
  BOOST_TEST_REQUIRE(made.size() == 19u);
  BOOST_TEST(made[0].id == "b000");
  BOOST_TEST(made[18].id == "b018");
  std::sort(made.begin(), made.end(), [](const auto& p, const auto& q) { return p.enu[0] < q.enu[0]; });
  for (int k = -9; k <= 9; ++k) {
    const Vec3& enu = made[static_cast<std::size_t>(k + 9)].enu;
    const double east = k / (2 * 9.8);
    BOOST_TEST(std::abs(enu[0] - east) < 1e-9);
    BOOST_TEST(std::abs(enu[1]) < 1e-9);
    BOOST_TEST(std::abs(enu[2] - std::sqrt(1 - east * east)) < 1e-9);
    BOOST_TEST(!made[static_cast<std::size_t>(k + 9)].sky.has_value());
  }
  options.overlap = 0.25;  // cos^2(pi / 3): beams 2 / (3 b) apart
  made = tile(options, header);
  BOOST_TEST(made.size() == 15u);
}

// About a direction of the sky beams follow it: l and m are direction cosines from there.
BOOST_AUTO_TEST_CASE(a_field_about_a_direction_has_beams_on_the_sky_around_it) {
  VoltageHeader header = pair_of_antennas();
  header.start = from_mjd_seconds(86400.0 * 60310);
  const SkyDirection centre = SkyFrame(*header.layout.site).zenith(header.start);
  BeamformOptions options;
  options.tile_rad = 30 * kRadPerDeg;
  header.phase_centre = centre;  // that of the recording, unless --centre says otherwise
  const std::vector<BeamDirection> made = tile(options, header);
  BOOST_TEST_REQUIRE(made.size() > 7u);
  double farthest = 0;
  for (const BeamDirection& beam : made) {
    BOOST_TEST_REQUIRE(beam.sky.has_value());
    const DirectionCosines at = project(centre, *beam.sky);
    BOOST_TEST(std::hypot(at.l, at.m) < std::sin(15 * kRadPerDeg) + 1e-9);
    farthest = std::max(farthest, at.l);
  }
  // J2000 north at the zenith is within half a degree of north: rows are along l to the same part.
  BOOST_TEST(std::abs(farthest - 5 / (2 * 9.8)) < 1e-3);
}

BOOST_AUTO_TEST_CASE(a_field_needs_antennas_and_an_extent_below_half_the_sky) {
  VoltageHeader header = pair_of_antennas();
  BeamformOptions options;
  options.centre = "zenith";
  for (const double bad_rad : {0.0, -0.1, 3.2}) {
    options.tile_rad = bad_rad;
    BOOST_CHECK_THROW(tile(options, header), UsageError);
  }
  options.tile_rad = 0.5;
  for (Antenna& antenna : header.layout.antennas) antenna.flagged = true;
  BOOST_CHECK_THROW(tile(options, header), UsageError);
}

BOOST_AUTO_TEST_CASE(without_a_table_or_a_field_there_is_one_beam) {
  VoltageHeader header = pair_of_antennas();
  BeamformOptions options;
  BOOST_CHECK_THROW(beams_of(options, header), UsageError);
  options.centre = "1h -30d";
  BOOST_TEST_REQUIRE(beams_of(options, header).size() == 1u);
  BOOST_TEST(beams_of(options, header)[0].id == "b000");
  BOOST_TEST(std::abs(beams_of(options, header)[0].sky->ra_rad - 15 * kRadPerDeg) < 1e-12);
  options.centre = "zenith";
  BOOST_TEST(!beams_of(options, header)[0].sky.has_value());
  options.centre.clear();
  options.incoherent = true;
  BOOST_TEST(beams_of(options, header)[0].id == "incoherent");
}

BOOST_AUTO_TEST_SUITE_END()
