// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/measure/measure.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "libcore/base/constants.h"
#include "libcore/sky/projection.h"
#include "libcore/sky/source_table.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(measure)

namespace {

constexpr double kCell = 20 * kRadPerArcsec;
const RestoringBeam kBeam{130 * kRadPerArcsec, 90 * kRadPerArcsec, 0.6};

/// A literal elliptical Gaussian: offsets turned to its axes, each divided by its FWHM.
double ellipse(double east, double north, double major, double minor, double pa) {
  const double along = east * std::sin(pa) + north * std::cos(pa);
  const double across = east * std::cos(pa) - north * std::sin(pa);
  return std::exp(-4 * std::log(2.0) * (std::pow(along / major, 2) + std::pow(across / minor, 2)));
}

void add(Buffer<double, 2>& image, double x0, double y0, double peak, const RestoringBeam& shape) {
  for (std::size_t y = 0; y < image.extent(0); ++y)
    for (std::size_t x = 0; x < image.extent(1); ++x)
      image(y, x) += peak * ellipse((x0 - x) * kCell, (y - y0) * kCell, shape.major_rad, shape.minor_rad,
                                    shape.position_angle_rad);
}

}  // namespace

BOOST_AUTO_TEST_CASE(points_off_the_pixel_grid_are_exact) {
  Buffer<double, 2> image({101, 120});
  add(image, 30.3, 40.7, 2.5, kBeam);
  add(image, 90.0, 70.0, 0.4, kBeam);
  const auto found = measure_sources(image, pixel_covariance(kBeam, kCell), {{31, 40, {}}, {89.1, 71, {}}});
  BOOST_REQUIRE(found[0].state == FitState::found);
  BOOST_CHECK_SMALL(found[0].x - 30.3, 1e-6);
  BOOST_CHECK_SMALL(found[0].y - 40.7, 1e-6);
  BOOST_CHECK_SMALL(found[0].flux - 2.5, 1e-6);
  BOOST_REQUIRE(found[1].state == FitState::found);
  BOOST_CHECK_SMALL(found[1].x - 90.0, 1e-6);
  BOOST_CHECK_SMALL(found[1].flux - 0.4, 1e-6);
}

BOOST_AUTO_TEST_CASE(overlapping_sources_do_not_pull_each_other) {
  Buffer<double, 2> image({100, 100});
  add(image, 50.2, 50.0, 1.0, kBeam);
  add(image, 50.2, 58.0, 0.7, kBeam);  // 1.3 beams to the north
  const auto found = measure_sources(image, pixel_covariance(kBeam, kCell), {{50, 50, {}}, {50, 58, {}}});
  BOOST_CHECK_SMALL(found[0].flux - 1.0, 1e-3);
  BOOST_CHECK_SMALL(found[1].flux - 0.7, 1e-3);
  BOOST_CHECK_SMALL(found[0].y - 50.0, 5e-3);
  BOOST_CHECK_SMALL(found[1].y - 58.0, 5e-3);
}

BOOST_AUTO_TEST_CASE(an_extended_source_counts_its_whole_flux) {
  // Two Gaussians on the same axes convolve to one whose squared widths add.
  const RestoringBeam size{200 * kRadPerArcsec, 50 * kRadPerArcsec, 0.6};
  const RestoringBeam together{std::hypot(kBeam.major_rad, size.major_rad),
                               std::hypot(kBeam.minor_rad, size.minor_rad), 0.6};
  const double flux = 3.0;
  const double peak = flux * kBeam.major_rad * kBeam.minor_rad / (together.major_rad * together.minor_rad);
  Buffer<double, 2> image({100, 100});
  add(image, 44.5, 51.5, peak, together);
  const auto found =
      measure_sources(image, pixel_covariance(kBeam, kCell), {{44, 52, pixel_covariance(size, kCell)}});
  BOOST_REQUIRE(found[0].state == FitState::found);
  BOOST_CHECK_SMALL(found[0].flux - flux, 1e-6);
  BOOST_CHECK_SMALL(found[0].x - 44.5, 1e-6);
}

BOOST_AUTO_TEST_CASE(noise_scatters_the_flux_as_it_should) {
  // A matched fit of amplitude and position: sigma(A) = rms sqrt(2) / sqrt(pixels of the squared Gaussian
  // ...); here only the bound that white noise per pixel averages down: far below the noise of one pixel.
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(0, 0.02);
  Buffer<double, 2> image({200, 200});
  for (double& pixel : image) pixel = noise(random);
  BOOST_CHECK_CLOSE(robust_rms(image), 0.02, 2.0);
  Buffer<double, 2> raised(image.shape());  // by a level, which is no noise
  std::transform(image.begin(), image.end(), raised.begin(), [](double value) { return value + 0.3; });
  BOOST_CHECK_CLOSE(robust_rms(raised), robust_rms(image), 1e-6);
  std::vector<ExpectedSource> expected;
  for (int i = 0; i < 25; ++i) {
    const double x = 20.3 + 36 * (i % 5), y = 20.6 + 36 * (i / 5);
    add(image, x, y, 1.0, kBeam);
    expected.push_back({x, y, {}});
  }
  double sum = 0, sum2 = 0;
  for (const MeasuredSource& source : measure_sources(image, pixel_covariance(kBeam, kCell), expected)) {
    BOOST_REQUIRE(source.state == FitState::found);
    sum += source.flux - 1, sum2 += std::pow(source.flux - 1, 2);
  }
  BOOST_TEST_MESSAGE("mean " << sum / 25 << " scatter " << std::sqrt(sum2 / 25));
  BOOST_CHECK_SMALL(sum / 25, 4 * 0.02 / 5);
  BOOST_CHECK_LT(std::sqrt(sum2 / 25), 0.02);
  BOOST_CHECK_CLOSE(robust_rms(image), 0.02, 15.0);  // the sources fill a sixth of the image
}

BOOST_AUTO_TEST_CASE(what_cannot_be_measured_says_so) {
  Buffer<double, 2> image({60, 60});
  for (double& pixel : image) pixel = -1;
  for (std::size_t y = 0; y < 60; ++y)
    for (std::size_t x = 30; x < 60; ++x) image(y, x) = std::numeric_limits<double>::quiet_NaN();
  const auto found = measure_sources(image, pixel_covariance(kBeam, kCell),
                                     {{45, 30, {}}, {-1e9, -1e9, {}}, {10, 10, {}}, {100, 30, {}}});
  BOOST_CHECK(found[0].state == FitState::outside);
  BOOST_CHECK(found[1].state == FitState::outside);
  BOOST_CHECK(found[2].state == FitState::failed);
  BOOST_CHECK(found[3].state == FitState::outside);
  BOOST_CHECK_THROW(measure_sources(image, PixelCovariance{}, {}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(projection_goes_there_and_back) {
  const SkyDirection centres[] = {{0, 0}, {1.5, -0.5}, {6.283185, 1.2}, {0.1, kPi / 2}, {3, -kPi / 2}};
  for (const SkyDirection& centre : centres)
    for (double l : {-0.7, -1e-6, 0.0, 0.3})
      for (double m : {-0.6, 0.0, 1e-7, 0.5}) {
        const SkyDirection there = unproject(centre, l, m);
        const DirectionCosines back = project(centre, there);
        BOOST_CHECK_SMALL(back.l - l, 1e-15 * 8);
        BOOST_CHECK_SMALL(back.m - m, 1e-15 * 8);
        BOOST_CHECK_SMALL(back.n - std::sqrt(1 - l * l - m * m), 1e-14);
        BOOST_CHECK(there.ra_rad >= 0 && there.ra_rad < kTwoPi);
      }
  // East is rising right ascension, north rising declination; the antipode has no place.
  BOOST_CHECK_GT(project({1, 0.2}, {1.01, 0.2}).l, 0);
  BOOST_CHECK_GT(project({1, 0.2}, {1, 0.21}).m, 0);
  BOOST_CHECK_LT(project({1, 0.2}, {1 + kPi, -0.2}).n, 0);
  BOOST_CHECK_CLOSE(separation_rad({1, 0.2}, {1, 0.2 + 1e-9}), 1e-9, 1e-4);
  BOOST_CHECK_CLOSE(separation_rad({0, 0}, {3, 0}), 3.0, 1e-10);
}

BOOST_AUTO_TEST_CASE(the_table_says_what_was_found) {
  SourceTable table{0.1, 2e-3, 1e-3, {}};
  table.rows.push_back({"east", 10, {1.0, -0.5}, true, "", 10.2, {1.0, -0.5 + 2e-5}});
  table.rows.push_back({"far", 4, {2.0, -0.5}, false, "outside", 0, {}});
  const auto lines = format_source_table(table);
  BOOST_REQUIRE_EQUAL(lines.size(), 3);
  BOOST_CHECK_EQUAL(lines[0].substr(0, 6), "# name");
  BOOST_CHECK(lines[1].find(" 1.0200 ") != std::string::npos);
  BOOST_CHECK(lines[1].find(" +2.00 ") != std::string::npos);
  BOOST_CHECK(lines[1].find(" 0.0200 ") != std::string::npos);  // 2e-5 rad in units of the narrow width
  BOOST_CHECK(lines[2].find("outside") != std::string::npos);
  BOOST_CHECK(summarise(table).find("1 of 2 sources found") == 0);
}

BOOST_AUTO_TEST_SUITE_END()
