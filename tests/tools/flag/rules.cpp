// SPDX-License-Identifier: GPL-3.0-or-later
// What is flagged whatever the data say.
#include "tools/flag/rules.h"

#include <boost/test/unit_test.hpp>

#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"

using namespace apsyn;
using namespace apsyn::flag;

BOOST_AUTO_TEST_SUITE(rules)

namespace {

/// Dishes of 25 m in a row to the east.
ArrayLayout row_of_dishes() {
  ArrayLayout layout;
  layout.site = Site{34 * kRadPerDeg, -107 * kRadPerDeg, 2000};
  for (int i = 0; i < 3; ++i) {
    layout.antennas.push_back({"d" + std::to_string(i), {60.0 * i, 0, 0}, 0, false});
    layout.antennas.back().dish_diameter_m = 25;
  }
  return layout;
}

/// Towards an elevation in the east: w along the source, u and v across.
Mat3 towards_east(double elevation_rad) {
  const double s = std::sin(elevation_rad), c = std::cos(elevation_rad);
  return {{{-s, 0, c}, {0, 1, 0}, {c, 0, s}}};
}

MsRows one_row(int ant1, int ant2, double time_s, int scan = 1) {
  MsRows rows;
  rows.ant1 = {ant1};
  rows.ant2 = {ant2};
  rows.time_mjd_s = {time_s};
  rows.interval_s = {2};
  rows.field = {0};
  rows.scan = {scan};
  return rows;
}

/// The flags of a row of 6 channels and 2 products.
std::vector<std::uint8_t> flags_of(Rules& rules, const MsRows& rows,
                                   const std::complex<float>* data = nullptr) {
  std::vector<std::uint8_t> flags(12, 0);
  rules.prepare(rows);
  rules.flag(rows, 0, data, 6, 2, flags.data());
  return flags;
}

const std::vector<std::uint8_t> kNone(12, 0), kAll(12, 1);

}  // namespace

BOOST_AUTO_TEST_CASE(the_farther_of_overlapping_dishes_is_shadowed) {
  const ArrayLayout layout = row_of_dishes();
  // 60 m sin(elevation) is what separates them: 25 m at 24.6 degrees.
  for (const double elevation_deg : {10.0, 20.0, 24.0})
    BOOST_TEST((shadowed_antennas(layout, towards_east(elevation_deg * kRadPerDeg)) ==
                std::vector<bool>{true, true, false}));
  for (const double elevation_deg : {25.0, 50.0, 90.0})
    BOOST_TEST(
        (shadowed_antennas(layout, towards_east(elevation_deg * kRadPerDeg)) == std::vector<bool>(3, false)));
}

BOOST_AUTO_TEST_CASE(antennas_autocorrelations_and_beginnings_of_scans_are_flagged) {
  Options options;
  options.antennas = "d1";
  options.autos = true;
  options.quack_s = 4;
  Rules rules(options, {row_of_dishes(), {{"field", {}}}, {{1, 100}, {2, 200}}});
  BOOST_TEST(flags_of(rules, one_row(0, 1, 150)) == kAll, boost::test_tools::per_element());
  BOOST_TEST(flags_of(rules, one_row(0, 2, 150)) == kNone, boost::test_tools::per_element());
  BOOST_TEST(flags_of(rules, one_row(2, 2, 150)) == kAll, boost::test_tools::per_element());
  BOOST_TEST(flags_of(rules, one_row(0, 2, 103)) == kAll, boost::test_tools::per_element());
  BOOST_TEST(flags_of(rules, one_row(0, 2, 105)) == kNone, boost::test_tools::per_element());
  BOOST_TEST(flags_of(rules, one_row(0, 2, 201, 2)) == kAll, boost::test_tools::per_element());
  options.antennas = "d7";
  BOOST_CHECK_THROW(Rules(options, {row_of_dishes(), {}, {}}), UsageError);
}

BOOST_AUTO_TEST_CASE(ends_of_bands_and_values_that_are_no_numbers_are_flagged) {
  Options options;
  options.edges = 1;
  options.non_finite = true;
  Rules rules(options, {row_of_dishes(), {{"field", {}}}, {}});
  std::vector<std::complex<float>> data(12, {1, 2});
  data[5] = {NAN, 0};
  data[6] = {0, INFINITY};
  const std::vector<std::uint8_t> expected{1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1};
  BOOST_TEST(flags_of(rules, one_row(0, 1, 0), data.data()) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
