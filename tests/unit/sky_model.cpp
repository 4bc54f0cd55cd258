// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/core/sky_model.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "libcore/core/constants.h"
#include "libcore/core/error.h"

using namespace apsyn;

namespace {

double hms(double h, double m, double s) {
  return (h + m / 60 + s / 3600) * kPi / 12;
}
double dms(double d, double m, double s) {
  return (d + m / 60 + s / 3600) * kRadPerDeg;
}

std::string error_of(const std::string& text) {
  try {
    parse_sky_model(text, "sky.txt");
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

BOOST_AUTO_TEST_CASE(wsclean_source_list) {
  const SkyModel model = parse_sky_model(
      "Format = Name, Type, Ra, Dec, I, SpectralIndex, LogarithmicSI, ReferenceFrequency='125584411.621094', "
      "MajorAxis, MinorAxis, Orientation\n"
      "s0c0,POINT,08:28:05.152,39.35.08.511,0.000748810650400475,[-0.00695379313004673,-0.0849693907803257],"
      "false,125000000,,,\r\n"
      "s1c1,GAUSSIAN,07:51:09.24,-42.32.46.177,0.5,[-0.7],true,,83.6,42.1,90\n",
      "sources.txt");
  BOOST_REQUIRE(model.components.size() == 2);
  const SkyComponent& point = model.components[0];
  BOOST_TEST(point.name == "s0c0");
  BOOST_TEST(point.direction.ra_rad == hms(8, 28, 5.152), boost::test_tools::tolerance(1e-15));
  BOOST_TEST(point.direction.dec_rad == dms(39, 35, 8.511), boost::test_tools::tolerance(1e-15));
  BOOST_TEST(point.stokes_jy[0] == 0.000748810650400475);
  BOOST_TEST(point.reference_freq_hz == 125e6);
  BOOST_TEST(!point.logarithmic_si);
  BOOST_REQUIRE(point.spectral_terms.size() == 2);
  BOOST_TEST(point.spectral_terms[1] == -0.0849693907803257);
  BOOST_TEST(point.major_rad == 0);
  const SkyComponent& gaussian = model.components[1];
  BOOST_TEST(gaussian.reference_freq_hz == 125584411.621094);
  BOOST_TEST(gaussian.direction.dec_rad == -dms(42, 32, 46.177), boost::test_tools::tolerance(1e-15));
  BOOST_TEST(gaussian.major_rad == 83.6 * kRadPerArcsec, boost::test_tools::tolerance(1e-15));
  BOOST_TEST(gaussian.minor_rad == 42.1 * kRadPerArcsec, boost::test_tools::tolerance(1e-15));
  BOOST_TEST(gaussian.position_angle_rad == kPi / 2, boost::test_tools::tolerance(1e-15));
  BOOST_TEST(gaussian.logarithmic_si);
}

BOOST_AUTO_TEST_CASE(bbs_with_patches_comments_and_a_trailing_format) {
  const SkyModel model = parse_sky_model(
      "# (Name, Type, Patch, Ra, Dec, I, Q, U, V) = format\n\n# a comment = with an equals sign\n"
      ", , CygA, 01:30:57.0840, +31.13.40.1360\n"
      "CygA-0, POINT, CygA, 01:30:57.0840, +31.13.40.1360, 10.000000, , -1.5, \n",
      "bbs");
  BOOST_REQUIRE(model.components.size() == 1);
  BOOST_TEST(model.components[0].stokes_jy[0] == 10);
  BOOST_TEST(model.components[0].stokes_jy[1] == 0);
  BOOST_TEST(model.components[0].stokes_jy[2] == -1.5);
  BOOST_TEST(model.components[0].reference_freq_hz == 0);
}

BOOST_AUTO_TEST_CASE(negative_right_ascension_columns_in_any_order_units_and_quotes) {
  const SkyModel model = parse_sky_model(
      "FORMAT = I='2.5', Dec, Ra, Type, Name, SpectralIndex='[]', ReferenceFrequency, MajorAxis\n"
      ", -0.30.00, -6:48:16.324, point, 'a, b', , , \n"
      "1, 12.5deg, 187.5deg, GAUSSIAN, \"c\", -0.5, 150MHz, 2amin\n"
      "1, -30d43m17s, 23h59m59.5s, POINT, d\n",
      "sky");
  BOOST_REQUIRE(model.components.size() == 3);
  BOOST_TEST(model.components[0].name == "a, b");
  BOOST_TEST(model.components[0].stokes_jy[0] == 2.5);
  BOOST_TEST(model.components[0].direction.ra_rad == kTwoPi - hms(6, 48, 16.324),
             boost::test_tools::tolerance(1e-15));
  BOOST_TEST(model.components[0].direction.dec_rad == -dms(0, 30, 0), boost::test_tools::tolerance(1e-15));
  BOOST_TEST(model.components[1].direction.ra_rad == 187.5 * kRadPerDeg, boost::test_tools::tolerance(1e-15));
  BOOST_TEST(model.components[1].reference_freq_hz == 150e6);
  BOOST_TEST(model.components[1].spectral_terms.at(0) == -0.5);
  BOOST_TEST(model.components[1].major_rad == 120 * kRadPerArcsec, boost::test_tools::tolerance(1e-15));
  BOOST_TEST(model.components[2].direction.dec_rad == -dms(30, 43, 17), boost::test_tools::tolerance(1e-15));
}

BOOST_AUTO_TEST_CASE(spectra) {
  SkyComponent component;
  component.stokes_jy = {2, 0.2, -0.1, 0.05};
  BOOST_TEST(flux_at(component, 1e9)[0] == 2);
  component.reference_freq_hz = 100e6;
  component.spectral_terms = {-0.7, 0.3};
  const double x = std::log10(1.5), expected = 2 * std::pow(1.5, -0.7 + 0.3 * x);
  BOOST_TEST(flux_at(component, 150e6)[0] == expected, boost::test_tools::tolerance(1e-14));
  BOOST_TEST(flux_at(component, 150e6)[2] == -0.05 * expected, boost::test_tools::tolerance(1e-14));
  component.logarithmic_si = false;
  BOOST_TEST(flux_at(component, 150e6)[0] == 2 - 0.7 * 0.5 + 0.3 * 0.25, boost::test_tools::tolerance(1e-14));
  BOOST_TEST(flux_at(component, 150e6)[1] == 0.1 * (2 - 0.7 * 0.5 + 0.3 * 0.25),
             boost::test_tools::tolerance(1e-14));
  BOOST_TEST(flux_at(component, 100e6)[0] == 2);
}

BOOST_AUTO_TEST_CASE(malformed_lines_are_named) {
  const std::string head = "Format = Name, Type, Ra, Dec, I, SpectralIndex, ReferenceFrequency\n";
  const std::pair<std::string, std::string> cases[] = {
      {"", "no line 'Format ="},
      {"a, POINT, 0:0:0, 0.0.0, 1\n", "line 1"},
      {"Format = Name, Type, Ra, Dec\n", "no column I"},
      {"Format = Name, Type, Ra, Dec, I, Colour\n", "'Colour'"},
      {"Format = Name, Type, Ra, Dec, I, I\n", "twice"},
      {head + "a, POINT, 0:0:0, 0.0.0, one\n", "line 2: 'one'"},
      {head + "\na, POINT, 0:0:0, 0.0.0, nan\n", "line 3"},
      {head + "a, POINT, 0:0:0, 0.0.0, inf\n", "line 2"},
      {head + "a, POINT, 0:0, 0.0.0, 1\n", "line 2"},
      {head + "a, POINT, 12.5, 0.0.0, 1\n", "no unit"},
      {head + "a, POINT, 0:0:0, 90.0.1, 1\n", "pole"},
      {head + "a, POINT, 0:0:0, 0.61.0, 1\n", "line 2"},
      {head + "a, POINT, 0:0:0, , 1\n", "needs Ra, Dec and I"},
      {head + "a, SHAPELET, 0:0:0, 0.0.0, 1\n", "shapelet"},
      {head + "a, POINT, 0:0:0, 0.0.0, 1, [-0.7, 100000000\n", "bracket"},
      {head + "a, POINT, 0:0:0, 0.0.0, 1, -0.7], 100000000\n", "']'"},
      {head + "a, POINT, 0:0:0, 0.0.0, 1, [-0.7,x], 100000000\n", "'x'"},
      {head + "a, POINT, 0:0:0, 0.0.0, 1, [-0.7]\n", "ReferenceFrequency"},
      {head + "a, POINT, 0:0:0, 0.0.0, 1, [-0.7], 1e8, 3\n", "8 fields"}};
  for (const auto& [text, expected] : cases) {
    const std::string error = error_of(text);
    BOOST_TEST(error.find("sky.txt: ") == 0, error);
    BOOST_TEST(error.find(expected) != std::string::npos, error << " lacks " << expected);
  }
  BOOST_CHECK_THROW(read_sky_model("/nonexistent/sky.txt"), FailureError);
}
