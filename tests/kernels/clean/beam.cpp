// SPDX-License-Identifier: GPL-3.0-or-later
// The fitted beam of known Gaussians, restoration against the formula, and photometry through CLEAN.
#include "kernels/clean/beam.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "kernels/clean/clean_image.h"
#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "tests/reference/synthetic_array.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(beam)

namespace {

/// The definition, from the rotated axes: major axis at angle pa from north (m) towards east (l).
double gaussian(const RestoringBeam& beam, double l_rad, double m_rad) {
  const double s = std::sin(beam.position_angle_rad), c = std::cos(beam.position_angle_rad);
  const double along = l_rad * s + m_rad * c, across = l_rad * c - m_rad * s;
  return std::exp(-4 * std::log(2.0) *
                  (std::pow(along / beam.major_rad, 2) + std::pow(across / beam.minor_rad, 2)));
}

Buffer<double, 2> gaussian_image(const RestoringBeam& beam, const CellSize& cell, std::size_t nx,
                                 std::size_t ny) {
  Buffer<double, 2> image({ny, nx});
  for (std::size_t y = 0; y < ny; ++y)
    for (std::size_t x = 0; x < nx; ++x)
      image(y, x) = gaussian(beam, (double(nx / 2) - double(x)) * cell.x_rad,
                             (double(y) - double(ny / 2)) * cell.y_rad);
  return image;
}

/// Difference of axes, modulo half a turn.
double angle_error(double a, double b) {
  return std::abs(std::remainder(a - b, kPi));
}

}  // namespace

BOOST_AUTO_TEST_CASE(fits_known_gaussians) {
  const double asec = kRadPerArcsec;
  double worst = 0;
  for (const CellSize cell : {CellSize{2 * asec, 2 * asec}, CellSize{2 * asec, 1.5 * asec}})
    for (const auto& [major, minor] :
         {std::array{5.0, 4.0}, {20.0, 10.0}, {60.0, 6.0}, {200.0, 190.0}, {9.0, 9.0}})
      for (const double angle_deg : {-80.0, -45.0, 0.0, 10.0, 30.0, 89.0}) {
        const RestoringBeam beam{major * asec, minor * asec, angle_deg * kRadPerDeg};
        for (const auto& [nx, ny] : {std::array<std::size_t, 2>{400, 401}, {401, 400}}) {
          const RestoringBeam fit = fit_beam(gaussian_image(beam, cell, nx, ny), cell);
          const double error = std::max(std::abs(fit.major_rad / beam.major_rad - 1),
                                        std::abs(fit.minor_rad / beam.minor_rad - 1));
          worst = std::max(worst, error);
          BOOST_TEST(error < 1e-9, major << " x " << minor << " at " << angle_deg << ": " << error);
          // The angle is as good as the axes differ.
          if (major > minor)
            BOOST_TEST(angle_error(fit.position_angle_rad, beam.position_angle_rad) <
                       1e-9 * major / (major - minor));
          BOOST_TEST((fit.position_angle_rad > -kPi / 2 && fit.position_angle_rad <= kPi / 2));
        }
      }
  BOOST_TEST_MESSAGE("largest relative error of an axis: " << worst);
}

BOOST_AUTO_TEST_CASE(ignores_sidelobes_and_scale) {
  const CellSize cell{1e-5, 1e-5};
  const RestoringBeam beam{9e-5, 6e-5, 0.5};
  Buffer<double, 2> psf = gaussian_image(beam, cell, 128, 128);
  for (double& value : psf) value *= 7;
  for (std::size_t x = 0; x < 128; ++x) psf(20, x) = 6;  // a sidelobe that does not touch the main lobe
  const RestoringBeam fit = fit_beam(psf, cell);
  BOOST_TEST(std::abs(fit.major_rad / beam.major_rad - 1) < 1e-9);
}

BOOST_AUTO_TEST_CASE(refuses_what_it_cannot_fit) {
  const CellSize cell{1e-5, 1e-5};
  Buffer<double, 2> psf({64, 64});
  BOOST_CHECK_THROW(fit_beam(psf, cell), FailureError);
  psf(32, 32) = 1;
  BOOST_CHECK_THROW(fit_beam(psf, cell), FailureError);  // unresolved
  psf.fill(1);
  BOOST_CHECK_THROW(fit_beam(psf, cell), FailureError);  // no edge
  // Fringes of a few parallel baselines, between zeros beyond the fifth fringe: no end along one axis.
  for (std::size_t y = 0; y < 64; ++y)
    for (std::size_t x = 0; x < 64; ++x)
      psf(y, x) = std::cos(0.35 * (double(x) - 32)) * (y > 27 && y < 37 ? 1 : 0);
  BOOST_CHECK_THROW(fit_beam(psf, cell), FailureError);
  BOOST_CHECK_THROW(fit_beam(Buffer<double, 2>({3, 3}), cell), FailureError);
}

BOOST_AUTO_TEST_CASE(restored_components_are_gaussians_of_the_beam) {
  const CellSize cell{2e-5, 1.5e-5};
  const RestoringBeam beam{16e-5, 9e-5, -1.1};
  const std::size_t nx = 90, ny = 75;
  std::vector<double> first;
  for (const unsigned n_threads : {1u, 2u, 7u}) {
    Buffer<double, 2> image({ny, nx}), model({ny, nx});
    image.fill(0.25);
    image(3, 4) = NAN;
    model(40, 20) = 2;
    model(0, 0) = -1;
    model(74, 89) = 3;
    model(41, 22) = 0.5;
    restore(image, model, beam, cell, n_threads);
    double worst = 0;
    for (std::size_t y = 0; y < ny; ++y)
      for (std::size_t x = 0; x < nx; ++x) {
        double expected = 0.25;
        for (const auto& [sx, sy, flux] :
             {std::array{20.0, 40.0, 2.0}, {0.0, 0.0, -1.0}, {89.0, 74.0, 3.0}, {22.0, 41.0, 0.5}})
          expected += flux * gaussian(beam, (sx - double(x)) * cell.x_rad, (double(y) - sy) * cell.y_rad);
        if (x == 4 && y == 3)
          BOOST_TEST(std::isnan(image(y, x)));
        else
          worst = std::max(worst, std::abs(image(y, x) - expected));
      }
    BOOST_TEST(worst <= 1e-15 * 10, "largest error " << worst);
    const std::vector<double> all(image.begin(), image.end());
    if (first.empty()) first = all;
    BOOST_TEST(std::memcmp(all.data(), first.data(), all.size() * sizeof(double)) == 0);
  }
}

// 20 sources of 0.2 to 1 Jy, half of them between pixels, apart from each other; noise-free, so that the
// errors are those of the method.
BOOST_AUTO_TEST_CASE(restored_peaks_have_the_flux_and_place_of_their_source) {
  const std::size_t n = 300;
  const auto coverage = reference::make_coverage(400, 11);
  std::mt19937_64 random(12);
  std::uniform_real_distribution<double> uniform;
  std::vector<reference::PointSource> sources;
  for (int i = 0; i < 20; ++i) {
    const double fraction = i % 2 == 0 ? 0 : 1;
    sources.push_back({30 + 60 * (i % 5) + fraction * (uniform(random) - 0.5),
                       30 + 75 * double(i / 5) + fraction * (uniform(random) - 0.5),
                       0.2 + 0.8 * uniform(random)});
  }
  Image residual, psf;
  residual.info.cell_rad = psf.info.cell_rad = 1e-4;
  residual.pixels.resize({1, 1, n, n});
  psf.pixels.resize({1, 1, 2 * n, 2 * n});
  const auto dirty = reference::dirty_image(coverage, sources, n, n);
  std::copy(dirty.begin(), dirty.end(), residual.pixels.begin());
  const auto spread = reference::dirty_image(coverage, {{double(n), double(n), 1}}, 2 * n, 2 * n);
  std::copy(spread.begin(), spread.end(), psf.pixels.begin());
  prepare_psf(psf, "psf", residual);
  Image model = empty_model(residual);
  DeconvolutionSettings settings;
  settings.max_iterations = 40000;
  settings.threshold_jy = 1e-4;
  settings.n_threads = 2;
  const std::vector<DeconvolutionGroup> groups{{1.5e8, 1}};
  Buffer<float, 4> planes({1, 1, n, n}), found({1, 1, n, n}), psf_plane({1, 1, 2 * n, 2 * n});
  std::copy(residual.pixels.begin(), residual.pixels.end(), planes.begin());
  std::copy(psf.pixels.begin(), psf.pixels.end(), psf_plane.begin());
  Deconvolver deconvolver(settings, psf_plane, groups, {1, n, n});
  const SetReport report = deconvolver.minor_cycle(planes, found).sets[0];
  std::copy(planes.begin(), planes.end(), residual.pixels.begin());
  std::copy(found.begin(), found.end(), model.pixels.begin());
  BOOST_TEST_MESSAGE(report.n_components << " components, " << describe_stop(report, FluxUnit::jansky));
  const RestoringBeam beam = fit_largest_beam(psf);
  restore_planes(residual, model, beam, 2);
  double worst_on = 0, worst_off = 0, worst_position = 0;
  for (const auto& source : sources) {
    const bool on_pixel = source.x == std::round(source.x) && source.y == std::round(source.y);
    // A parabola through the logarithms of the 3 x 3 pixels around the peak is exact for a Gaussian.
    const auto cx = std::size_t(std::lround(source.x)), cy = std::size_t(std::lround(source.y));
    auto value = [&](int dx, int dy) {
      return std::log(residual.pixels(0, 0, cy + std::size_t(dy), cx + std::size_t(dx)));
    };
    const double z = value(0, 0), gx = (value(1, 0) - value(-1, 0)) / 2,
                 gy = (value(0, 1) - value(0, -1)) / 2;
    const double xx = value(1, 0) + value(-1, 0) - 2 * z, yy = value(0, 1) + value(0, -1) - 2 * z;
    const double xy = (value(1, 1) + value(-1, -1) - value(1, -1) - value(-1, 1)) / 4;
    const double determinant = xx * yy - xy * xy;
    const double dx = -(yy * gx - xy * gy) / determinant, dy = -(xx * gy - xy * gx) / determinant;
    const double peak = std::exp(z + 0.5 * (gx * dx + gy * dy));
    double& worst = on_pixel ? worst_on : worst_off;
    worst = std::max(worst, std::abs(peak / source.flux - 1));
    const double offset_rad = 1e-4 * std::hypot(double(cx) + dx - source.x, double(cy) + dy - source.y);
    worst_position = std::max(worst_position, offset_rad / beam.minor_rad);
  }
  BOOST_TEST_MESSAGE("flux error on pixels " << worst_on << ", between pixels " << worst_off << ", position "
                                             << worst_position << " beams");
  BOOST_TEST(worst_on < 1e-3);
  BOOST_TEST(worst_off < 1e-2);
  BOOST_TEST(worst_position < 0.05);
}

BOOST_AUTO_TEST_CASE(the_largest_beam_of_several_planes_is_found) {
  constexpr std::size_t n = 64;
  const double fwhm_pixels[] = {4, 6, 5};
  Image psf;
  psf.info.cell_rad = 1e-4;
  psf.pixels.resize({1, 3, n, n});
  for (std::size_t freq = 0; freq < 3; ++freq)
    for (std::size_t y = 0; y < n; ++y)
      for (std::size_t x = 0; x < n; ++x) {
        const double r2 = std::pow(double(x) - n / 2, 2) + std::pow(double(y) - n / 2, 2);
        psf.pixels(0, freq, y, x) = std::exp(-4 * std::log(2.0) * r2 / std::pow(fwhm_pixels[freq], 2));
      }
  const RestoringBeam beam = fit_largest_beam(psf);
  BOOST_TEST(std::abs(beam.major_rad / 6e-4 - 1) < 1e-9);
  BOOST_TEST(std::abs(beam.minor_rad / 6e-4 - 1) < 1e-9);
}

BOOST_AUTO_TEST_CASE(beams_are_parsed_or_refused) {
  const RestoringBeam circle = parse_restoring_beam("12asec"),
                      ellipse = parse_restoring_beam("12asec,10asec,-30deg");
  BOOST_TEST(circle.major_rad == circle.minor_rad);
  BOOST_TEST(ellipse.minor_rad == parse_angle("10asec"));
  BOOST_TEST(ellipse.position_angle_rad == parse_angle("-30deg"));
  for (const char* bad : {"", "12", "1asec,2asec,0deg", "1asec,1asec", "0asec", "1asec,1asec,1deg,1deg",
                          "-1asec", "1asec,,1deg"})
    BOOST_CHECK_THROW(parse_restoring_beam(bad), UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
