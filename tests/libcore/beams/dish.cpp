// SPDX-License-Identifier: GPL-3.0-or-later
// Dishes against EveryBeam's, whose table of radii is good to 4e-4, and against their definitions.
#include "libcore/beams/dish.h"

#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/beams/pattern.h"
#include "libcore/formats/beam_files/beam_files.h"
#include "tests/libcore/beams/truth.h"
#include "tests/reference/beams.h"

using namespace apsyn;
using namespace beam_test;

BOOST_AUTO_TEST_SUITE(dish)

namespace {

constexpr double kArcmin = kPi / 10800;

std::string table(const char* name) {
  return read_text_file(find_beam_file(name, beam_data_folders("")));
}

}  // namespace

BOOST_AUTO_TEST_CASE(polynomials_are_those_of_everybeam) {
  const Truth truth("beams-dishes.csv");
  const std::string csv = table("dish-polynomials.csv");
  for (const CsvRow& row : truth.rows()) {
    std::string telescope = truth.text(row, "telescope");
    if (telescope == "EVLA") telescope = "VLA";
    const auto v = make_polynomial_dish(csv, "table", telescope)
                       ->at({std::sin(truth.number(row, "l_arcmin") * kArcmin),
                             std::sin(truth.number(row, "m_arcmin") * kArcmin)},
                            truth.number(row, "freq_hz"));
    BOOST_TEST(std::abs(v[0] - truth.number(row, "voltage")) < 5e-4, telescope);  // 4.0e-4
    BOOST_TEST(v[0] == v[1]);
  }
  BOOST_CHECK_THROW(make_polynomial_dish(csv, "table", "ARECIBO"), DataError);
  BOOST_CHECK_THROW(make_polynomial_dish("telescope,freq_mhz\nVLA,1", "table", "VLA"), DataError);
}

// The published form: half the power at half a width, about the squint.
BOOST_AUTO_TEST_CASE(meerkat_has_its_squint_and_width) {
  const std::string csv =
      "band,freq_mhz,hx_squint_arcmin,hy_squint_arcmin,vx_squint_arcmin,vy_squint_arcmin,hx_fwhm_arcmin,"
      "hy_fwhm_arcmin,vx_fwhm_arcmin,vy_fwhm_arcmin\nL,1000,1,2,-1,-2,80,90,82,92\nL,1200,3,2,-1,-2,60,90,82,"
      "92\n";
  const auto dish = make_jimbeam_dish(csv, "table", "L");
  BOOST_TEST(!dish->is_round());
  const auto h = [&](double x, double y, double mhz) {
    return dish->at({x * kArcmin, y * kArcmin}, mhz * 1e6)[0];
  };
  const auto v = [&](double x, double y, double mhz) {
    return dish->at({x * kArcmin, y * kArcmin}, mhz * 1e6)[1];
  };
  BOOST_TEST(h(1, 2, 1000) == 1);
  BOOST_TEST(v(-1, -2, 1000) == 1);
  BOOST_TEST(std::abs(std::pow(h(1 + 40, 2, 1000), 2) - 0.5) < 1e-9);
  BOOST_TEST(std::abs(std::pow(h(1, 2 - 45, 1000), 2) - 0.5) < 1e-9);
  BOOST_TEST(std::abs(std::pow(h(2 + 35, 2, 1100), 2) - 0.5) < 1e-9);  // half-way between the rows
  BOOST_TEST(std::abs(std::pow(h(3 + 30, 2, 1500), 2) - 0.5) < 1e-9);  // held
  BOOST_TEST(std::abs(std::pow(v(-1, -2 + 46, 900), 2) - 0.5) < 1e-9);
  BOOST_TEST(make_jimbeam_dish(table("meerkat-jimbeam.csv"), "table", "UHF")->at({0, 0}, 600e6)[0] > 0.99);
  BOOST_CHECK_THROW(make_jimbeam_dish(csv, "table", "S"), DataError);
}

BOOST_AUTO_TEST_CASE(a_blocked_aperture_is_a_disc_less_a_disc) {
  const double r = 12 * kArcmin, freq_hz = 100e9 / 12;
  const double whole = reference::lit_disc(r, 10.7, freq_hz), hidden = reference::lit_disc(r, 0.75, freq_hz);
  const auto v = make_blocked_dish(10.7, 0.75, 107)->at({r * 0.6, -r * 0.8}, freq_hz);
  BOOST_TEST(std::abs(v[0] - (10.7 * 10.7 * whole - 0.75 * 0.75 * hidden) / (10.7 * 10.7 - 0.75 * 0.75)) <
             1e-6);
  BOOST_TEST(make_blocked_dish(10.7, 0.75, 107)->at({13 * kArcmin, 0}, freq_hz)[0] == 0);
  BOOST_TEST(make_blocked_dish(15, 0, 0)->at({0, 0}, 1e9)[0] == 1);
}

// Cubic convolution keeps quadratics, and frequency is linear.
BOOST_AUTO_TEST_CASE(patterns_are_interpolated) {
  VoltagePattern pattern{-0.05, 0.01, 0.04, -0.01, {1e9, 2e9}, {}};
  pattern.values.resize({2, 9, 11, 4});
  const auto value = [](double x, double y, double ghz, std::size_t k) {
    return std::complex<double>(ghz * (1 - 100 * x * x), double(k) * y);
  };
  for (std::size_t f = 0; f < 2; ++f)
    for (std::size_t y = 0; y < 9; ++y)
      for (std::size_t x = 0; x < 11; ++x)
        for (std::size_t k = 0; k < 4; ++k)
          pattern.values(f, y, x, k) = std::complex<float>(
              value(-0.05 + 0.01 * double(x), 0.04 - 0.01 * double(y), 1.0 + double(f), k));
  const Jones j = pattern.at(0.0123, -0.0071, 1.25e9);
  for (std::size_t k = 0; k < 4; ++k) BOOST_TEST(std::abs(j[k] - value(0.0123, -0.0071, 1.25, k)) < 1e-6);
  BOOST_TEST(squared_norm(pattern.at(0.051, 0, 1e9)) == 0);
  BOOST_TEST(std::abs(pattern.at(0, 0, 5e9)[0] - 2.0) < 1e-6);
}

BOOST_AUTO_TEST_SUITE_END()
