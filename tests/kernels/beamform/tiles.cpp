// SPDX-License-Identifier: GPL-3.0-or-later
// Tables of beams, fields covered with them, 8-bit scales and SIGPROC headers.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <random>

#include "kernels/beamform/pattern.h"
#include "kernels/beamform/rescale.h"
#include "kernels/beamform/tiling.h"
#include "libcore/array/array_layout.h"
#include "libcore/array/beam_table.h"
#include "libcore/base/error.h"
#include "libcore/formats/filterbank/file.h"
#include "tests/reference/beamform.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(tiles)

BOOST_AUTO_TEST_CASE(tables_name_directions) {
  const auto sky = parse_beams_csv("id,ra,dec\na,6h,-30deg\nb,90deg,-30d00m00s\n", "b.csv");
  BOOST_TEST(sky.size() == 2u);
  BOOST_TEST(sky[0].sky->ra_rad == M_PI / 2, boost::test_tools::tolerance(1e-15));
  BOOST_TEST(sky[1].sky->dec_rad == sky[0].sky->dec_rad, boost::test_tools::tolerance(1e-15));
  // azimuth 90 deg is east
  const auto ground = parse_beams_csv(
      "az,el,id,antennas\n90deg,30deg,e,1;Tile3\n0deg,90deg,z,\n359.9999999999999deg,-12.5deg,below,\n",
      "b.csv");
  BOOST_TEST(ground[0].enu[0] == std::sqrt(0.75), boost::test_tools::tolerance(1e-15));
  BOOST_TEST(std::abs(ground[0].enu[1]) < 1e-15);
  BOOST_TEST(ground[0].enu[2] == 0.5, boost::test_tools::tolerance(1e-15));
  BOOST_TEST(ground[0].antennas == "1,Tile3");
  BOOST_TEST(azimuth_of(ground[0].enu) == M_PI / 2, boost::test_tools::tolerance(1e-15));
  BOOST_TEST(elevation_of(ground[0].enu) == M_PI / 6, boost::test_tools::tolerance(1e-15));
  BOOST_TEST(format_azimuth(ground[2].enu, 9) == "0.000000000");
  for (const auto& beams : {sky, ground}) {
    const auto again = parse_beams_csv(format_beams_csv(beams), "again.csv");
    for (std::size_t i = 0; i < beams.size(); ++i) {
      BOOST_TEST(again[i].id == beams[i].id);
      if (beams[i].sky) BOOST_TEST(std::abs(again[i].sky->ra_rad - beams[i].sky->ra_rad) < 1e-9);
      if (!beams[i].sky)
        for (std::size_t axis = 0; axis < 3; ++axis)
          BOOST_TEST(std::abs(again[i].enu[axis] - beams[i].enu[axis]) < 1e-9);
      BOOST_TEST(again[i].antennas == beams[i].antennas);
    }
  }
}

BOOST_AUTO_TEST_CASE(neighbouring_beams_meet_at_the_overlap) {
  std::vector<Vec2> positions;
  std::vector<std::array<double, 3>> metres;
  for (const Antenna& antenna : builtin_array("mwa-32t").antennas) {
    positions.push_back({antenna.enu_m[0] / 2, antenna.enu_m[1] / 2});
    metres.push_back({antenna.enu_m[0], antenna.enu_m[1], 0});
  }
  constexpr double freq_hz = 299792458.0 / 2;
  for (const double overlap : {0.3, 0.5, 0.9}) {
    const auto beams = tile_field(positions, 0.03, overlap, 4000);
    BOOST_TEST(beams[0][0] == 0.0);
    BOOST_TEST(beams[0][1] == 0.0);
    // the six nearest in the beam's own measure: their midpoints have the power asked for, or more
    double least = 1;
    std::size_t n_above = 0;
    for (std::size_t i = 1; i < beams.size(); ++i) {
      BOOST_TEST(std::hypot(beams[i][0], beams[i][1]) <= 0.03);
      const double power =
          std::norm(reference::array_response(metres, {beams[i][0] / 2, beams[i][1] / 2, 0}, {}, freq_hz));
      if (power > overlap - 1e-6) ++n_above, least = std::min(least, power);
    }
    BOOST_TEST(n_above == 6u);
    BOOST_TEST(std::abs(least - overlap) < 1e-6);
  }
  BOOST_CHECK_THROW(tile_field(positions, 0.5, 0.5, 100), UsageError);
  // one antenna, and antennas along a line: one beam across what is not resolved
  BOOST_TEST(tile_field({{3, 4}}, 0.1, 0.5, 100).size() <= 7u);
  const auto row = tile_field({{0, 0}, {50, 50}, {100, 100}}, 0.1, 0.5, 1000);
  BOOST_TEST(row.size() > 10u);
}

BOOST_AUTO_TEST_CASE(eight_bits_keep_what_matters) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> values(5000);
  for (float& x : values) x = 7 * normal(random);
  for (std::size_t i = 0; i < 1000; ++i) values[i] = 0;  // missing
  const float step = voltage_step(values);
  BOOST_TEST(step == 7.0f / 24, boost::test_tools::tolerance(0.03f));
  values[1000] = 1e9f;
  values[1001] = -1e9f;
  std::vector<std::int8_t> q(values.size());
  quantise_voltages(values, step, q.data());
  BOOST_TEST(int(q[0]) == 0);
  BOOST_TEST(int(q[1000]) == 127);
  BOOST_TEST(int(q[1001]) == -127);
  float worst = 0;
  for (std::size_t i = 1002; i < values.size(); ++i)
    worst = std::max(worst, std::abs(float(q[i]) * step - values[i]));
  BOOST_TEST(worst <= 0.501f * step);
  BOOST_TEST(voltage_step(std::vector<float>(10, 0.0f)) == 1.0f);
  BOOST_TEST(voltage_scale_times(1) == 4096u);
  BOOST_TEST(voltage_scale_times(4096) == 32u);

  // three channels: noise, a constant, nothing
  std::vector<float> products(3 * 1000);
  for (std::size_t t = 0; t < 1000; ++t) products[3 * t] = 100 + 5 * normal(random), products[3 * t + 1] = 6;
  products[3 * 7] = 0;
  const auto scales = product_scales(products, 3);
  BOOST_TEST(scales[0].step == 5.0f / 16, boost::test_tools::tolerance(0.1f));
  std::vector<std::uint8_t> levels(3);
  const std::vector<float> row = {100, 6, 0}, extremes = {1e9f, -1e9f, 5};
  quantise_products(row, scales, levels.data());
  BOOST_TEST(std::abs(int(levels[0]) - 64) <= 1);
  BOOST_TEST(int(levels[1]) == 64);
  BOOST_TEST(int(levels[2]) == 0);
  BOOST_TEST(std::abs(scales[1].offset + scales[1].step * 64 - 6) < 1e-5f);
  quantise_products(extremes, scales, levels.data());
  BOOST_TEST(int(levels[0]) == 255);
  BOOST_TEST(int(levels[1]) == 1);
}

BOOST_AUTO_TEST_CASE(sigproc_headers_hold_packed_angles_and_mhz) {
  BOOST_TEST(packed_sexagesimal(23.0 + 23.0 / 60 + 24.5 / 3600) == 232324.5,
             boost::test_tools::tolerance(1e-12));
  BOOST_TEST(packed_sexagesimal(-30.0 - 43.0 / 60 - 17.5 / 3600) == -304317.5,
             boost::test_tools::tolerance(1e-12));
  BOOST_TEST(packed_sexagesimal(-0.5) == -3000.0);
  // no 60 seconds
  BOOST_TEST(packed_sexagesimal(6 - 1e-13) == 60000.0);
  // a right ascension just short of a turn is no 24 hours
  BOOST_TEST(packed_sexagesimal(24 - 1e-13, 24) == 0.0);
  BOOST_TEST(packed_sexagesimal(-90) == -900000.0);
  FilterbankHeader header;
  header.raw_file = std::string(200, 'x');
  header.first_hz = 1.5e9;
  header.step_hz = -1e6;
  header.n_chan = 1024;
  const std::string bytes = format_filterbank_header(header);
  BOOST_TEST(bytes.substr(4, 12) == "HEADER_START");
  BOOST_TEST(bytes.substr(bytes.size() - 10) == "HEADER_END");
  BOOST_TEST(bytes.find(std::string(80, 'x')) == std::string::npos);
  const auto at = bytes.find("foff");
  double step_mhz;
  std::memcpy(&step_mhz, &bytes[at + 4], 8);
  BOOST_TEST(step_mhz == -1.0);
  std::int32_t length;
  std::memcpy(&length, &bytes[at - 4], 4);
  BOOST_TEST(length == 4);
}

BOOST_AUTO_TEST_CASE(patterns_are_those_of_equation_1) {
  PatternPlan plan;
  std::vector<std::array<double, 3>> metres;
  for (const Antenna& antenna : builtin_array("best-2").antennas) {
    plan.enu_m.push_back(antenna.enu_m);
    metres.push_back(antenna.enu_m);
  }
  BOOST_TEST(metres.size() == 32u);
  plan.freq_hz = 408e6;
  plan.steered = enu_from_azimuth(0.3, 1.4);
  plan.cell = 2.0 / 64;
  Buffer<double, 2> power({64, 65});
  array_pattern(plan, power);
  // An element that sees the sine of the elevation as a voltage squares it.
  Buffer<double, 2> through({64, 65});
  plan.element = [](const Vec3& s) { return s[2]; };
  array_pattern(plan, through);
  std::size_t n = 0;
  double worst = 0;
  for (std::size_t y = 0; y < 64; ++y)
    for (std::size_t x = 0; x < 65; ++x) {
      const double l = (32.0 - double(x)) * plan.cell, m = (double(y) - 32.0) * plan.cell;
      BOOST_TEST(std::isnan(power(y, x)) == (l * l + m * m >= 1));
      if (std::isnan(power(y, x))) continue;
      const double wanted = std::norm(reference::array_response(metres, {l, m, std::sqrt(1 - l * l - m * m)},
                                                                plan.steered, plan.freq_hz));
      worst = std::max(worst, std::abs(power(y, x) - wanted));
      worst = std::max(worst, std::abs(through(y, x) - wanted * (1 - l * l - m * m)));
      ++n;
    }
  BOOST_TEST(n > 3000u);
  BOOST_TEST(worst < 1e-12);
}

BOOST_AUTO_TEST_SUITE_END()
