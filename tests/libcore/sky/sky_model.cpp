// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/sky/sky_model.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <string>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(sky_model)

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

BOOST_AUTO_TEST_CASE(source_lists_of_wsclean_are_read) {
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

BOOST_AUTO_TEST_CASE(bbs_is_read_with_patches_comments_and_a_trailing_format) {
  const SkyModel model = parse_sky_model(
      "## # (Name, Type, Patch, Ra, Dec, I, Q, U, V) = format\n\n# a comment = with an equals sign\n"
      ", , CygA, 01:30:57.0840, +31.13.40.1360\n"
      "CygA-0, POINT, CygA, 01:30:57.0840, +31.13.40.1360, 10.000000, , -1.5, \n",
      "bbs");
  BOOST_REQUIRE(model.components.size() == 1);
  BOOST_TEST(model.components[0].stokes_jy[0] == 10);
  BOOST_TEST(model.components[0].stokes_jy[1] == 0);
  BOOST_TEST(model.components[0].stokes_jy[2] == -1.5);
  BOOST_TEST(model.components[0].reference_freq_hz == 0);
}

BOOST_AUTO_TEST_CASE(columns_may_have_any_order_units_and_quotes) {
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

BOOST_AUTO_TEST_CASE(angles_are_those_from_the_north_at_the_source) {
  const std::string head =
      "Format = Name, Type, Ra, Dec, I, OrientationIsAbsolute, MajorAxis, MinorAxis, Orientation\n";
  const SkyModel model = parse_sky_model(head +
                                             "a, GAUSSIAN, 0:0:0, 0.0.0, 1, True, 20, 10, 30\n"
                                             "b, GAUSSIAN, 0:0:0, 0.0.0, 1, , 20, 10, 30\n"
                                             "c, GAUSSIAN, 0:0:0, 0.0.0, 1, false, 20, 20, 30\n"
                                             "d, POINT, 0:0:0, 0.0.0, 1, false, 20, 10, 30\n",
                                         "sky");
  BOOST_REQUIRE(model.components.size() == 4);
  BOOST_TEST(model.components[0].position_angle_rad == 30 * kRadPerDeg, boost::test_tools::tolerance(1e-15));
  BOOST_TEST(
      error_of(head + "a, GAUSSIAN, 0:0:0, 0.0.0, 1, false, 20, 10, 30\n").find("line 2: OrientationIs") !=
      std::string::npos);
}

BOOST_AUTO_TEST_CASE(spectra_follow_their_terms) {
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

/// Both ways of saying the same, against P = f I exp(2 i (chi + RM lambda^2)).
BOOST_AUTO_TEST_CASE(faraday_rotation_turns_linear_polarisation) {
  const double rm = -7.3, fraction = 0.4, chi = 0.6, reference_m = kSpeedOfLight_m_s / 150e6;
  auto polarised = [&](double i_jy, double wavelength_m) {
    return i_jy * fraction * std::polar(1.0, 2 * (chi + rm * wavelength_m * wavelength_m));
  };
  auto i_at = [](double wavelength_m) {
    return 2 * std::pow(kSpeedOfLight_m_s / wavelength_m / 150e6, -0.8);
  };
  const std::string head =
      "Format = Name, Type, Ra, Dec, I, Q, U, V, SpectralIndex='[-0.8]', ReferenceFrequency='150e6', "
      "RotationMeasure, PolarizedFraction, PolarizationAngle, ReferenceWavelength\na, POINT, 0:0:0, 0.0.0, "
      "2, ";
  auto q_and_u = [&](double wavelength_m) {
    const auto p = polarised(i_at(wavelength_m), wavelength_m);
    return fmt::format("{:.17g}, {:.17g}, 0.1, , , -7.3, , , ", p.real(), p.imag());
  };
  for (const std::string& line : {std::string(", , 0.1, , , -7.3, 0.4, 0.6, "),
                                  std::string(", , 0.1, , , -7.3, 0.4, 34.377467707849396deg"),
                                  std::string("0, 0, 0.1, , , -7.3, 0.4, 0.6"),
                                  q_and_u(reference_m).substr(0, q_and_u(reference_m).size() - 4) + "0, 0, ",
                                  q_and_u(reference_m), q_and_u(1.25) + "1.25", q_and_u(1.25) + "125cm"}) {
    const SkyModel model = parse_sky_model(head + line + "\n", "sky");
    const SkyComponent& component = model.components.at(0);
    for (const double hz : {120e6, 150e6, 166e6, 1.4e9}) {
      const double wavelength_m = kSpeedOfLight_m_s / hz, i_jy = i_at(wavelength_m);
      const auto want = polarised(i_jy, wavelength_m);
      const auto [i, q, u, v] = flux_at(component, hz);
      // Measured 1.7e-16, 7.1e-15 (turned by up to 45 rad) and 1e-17.
      BOOST_TEST(std::abs(i - i_jy) <= 1e-15 * i_jy);
      BOOST_TEST(std::abs(std::complex(q, u) - want) <= 5e-14 * i_jy, line << " at " << hz);
      BOOST_TEST(std::abs(v - 0.05 * i_jy) <= 1e-15 * i_jy);
    }
  }
  // None, and as good as none.
  for (const char* line : {"0.2, -0.1, 0, , , , , , ", "0.2, -0.1, 0, , , 0, , , "}) {
    const auto [i, q, u, v] = flux_at(parse_sky_model(head + line, "sky").components.at(0), 150e6);
    BOOST_TEST((i == 2 && q == 0.2 && u == -0.1 && v == 0));
  }
}

/// Beside polarised sources of a model, whose columns they share.
BOOST_AUTO_TEST_CASE(unpolarised_sources_may_have_a_rotation_measure) {
  const std::string head =
      "Format = Name, Type, Ra, Dec, I, Q, U, RotationMeasure, PolarizedFraction, PolarizationAngle, "
      "ReferenceWavelength\na, POINT, 0:0:0, 0.0.0, 2, ";
  for (const char* line : {", , 5, , , ", "0, 0, 5, , , ", ", , 5, 0, 0, ", "0, 0, 0, 0, 0, 0",
                           ", , 5, 0, 0.3, 2", ", , , 0, 0, ", "0, 0, , , , 2", ", , 5, , 0, 0"}) {
    const SkyModel model = parse_sky_model(head + line, "sky");
    BOOST_TEST((flux_at(model.components.at(0), 150e6) == std::array<double, 4>{2, 0, 0, 0}), line);
  }
}

BOOST_AUTO_TEST_CASE(malformed_lines_are_named) {
  const std::string head = "Format = Name, Type, Ra, Dec, I, SpectralIndex, ReferenceFrequency\n";
  const std::string rotated =
      "Format = Name, Type, Ra, Dec, I, Q, U, RotationMeasure, PolarizedFraction, PolarizationAngle, "
      "ReferenceWavelength, ReferenceFrequency\n";
  const std::string gaussian = "Format = Name, Type, Ra, Dec, I, MajorAxis, MinorAxis, Orientation\n";
  const std::pair<std::string, std::string> cases[] = {
      {gaussian + "a, GAUSSIAN, 0:0:0, 0.0.0, 1, -5, 3, 0\n", "a negative axis"},
      {gaussian + "a, GAUSSIAN, 0:0:0, 0.0.0, 1, 5, -3, 0\n", "a negative axis"},
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
      {head + "a, POINT, 0:0:0, 0.0.0, 1, [-0.7], 1e8, 3\n", "8 fields"},
      {rotated + "a, POINT, 0:0:0, 0.0.0, 1, , , 5, , 0.2, , 1e8\n", "needs a PolarizedFraction"},
      {rotated + "a, POINT, 0:0:0, 0.0.0, 1, , , 5, 0.1, , , 1e8\n", "either Q and U or"},
      {rotated + "a, POINT, 0:0:0, 0.0.0, 1, 0.1, 0, 5, 0.1, 0, , 1e8\n", "either Q and U or"},
      {rotated + "a, POINT, 0:0:0, 0.0.0, 1, , , , 0.1, 0, , 1e8\n", "need a RotationMeasure"},
      {rotated + "a, POINT, 0:0:0, 0.0.0, 1, 0.1, 0, , , , 2, 1e8\n", "need a RotationMeasure"},
      {rotated + "a, POINT, 0:0:0, 0.0.0, 1, 0.1, 0, 5, , , , \n", "or a ReferenceFrequency"},
      {rotated + "a, POINT, 0:0:0, 0.0.0, 1, 0.1, 0, 5, , , 0, 1e8\n", "ReferenceWavelength above 0"},
      {rotated + "a, POINT, 0:0:0, 0.0.0, 1, , , 5, 0.1, 0.2, 2, 1e8\n", "remove ReferenceWavelength"}};
  for (const auto& [text, expected] : cases) {
    const std::string error = error_of(text);
    BOOST_TEST(error.find("sky.txt: ") == 0, error);
    BOOST_TEST(error.find(expected) != std::string::npos, error << " lacks " << expected);
  }
  BOOST_CHECK_THROW(read_sky_model("/nonexistent/sky.txt"), FailureError);
}

BOOST_AUTO_TEST_SUITE_END()
