// SPDX-License-Identifier: GPL-3.0-or-later
// What CLEAN is for: fluxes, positions, polarisation and extended emission of a known sky with noise.
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <random>
#include <tuple>

#include "kernels/clean/beam.h"
#include "kernels/clean/cpu/multiscale.h"
#include "tests/reference/multiscale.h"
#include "tests/support/clean_field.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(science)

namespace {

/// Peak and position of a restored source: a parabola through the logarithms of 3 x 3 pixels, exact for a
/// Gaussian.
PointSource measure(View<const double, 2> image, const PointSource& near) {
  const auto cx = std::size_t(std::lround(near.x)), cy = std::size_t(std::lround(near.y));
  auto value = [&](int dx, int dy) { return std::log(image(cy + std::size_t(dy), cx + std::size_t(dx))); };
  const double z = value(0, 0), gx = (value(1, 0) - value(-1, 0)) / 2, gy = (value(0, 1) - value(0, -1)) / 2;
  const double xx = value(1, 0) + value(-1, 0) - 2 * z, yy = value(0, 1) + value(0, -1) - 2 * z;
  const double xy = (value(1, 1) + value(-1, -1) - value(1, -1) - value(-1, 1)) / 4;
  const double determinant = xx * yy - xy * xy;
  const double dx = -(yy * gx - xy * gy) / determinant, dy = -(xx * gy - xy * gx) / determinant;
  return {double(cx) + dx, double(cy) + dy, std::exp(z + 0.5 * (gx * dx + gy * dy))};
}

/// 20 sources of 0.2 to 1 Jy apart from each other, every other one between pixels.
std::vector<PointSource> twenty_sources(double spacing) {
  std::mt19937_64 random(12);
  std::uniform_real_distribution<double> uniform;
  std::vector<PointSource> sources;
  for (int i = 0; i < 20; ++i) {
    const double between = i % 2;
    sources.push_back({spacing * (0.5 + i % 5) + between * (uniform(random) - 0.5),
                       spacing * (0.5 + 1.25 * double(i / 5)) + between * (uniform(random) - 0.5),
                       0.2 + 0.8 * uniform(random)});
  }
  return sources;
}

}  // namespace

BOOST_AUTO_TEST_CASE(fluxes_of_point_sources_are_recovered) {
  const auto sources = twenty_sources(52);
  const std::size_t n = 260;
  const double noise_jy = 1e-4;
  for (const CleanAlgorithm algorithm : {CleanAlgorithm::hogbom, CleanAlgorithm::clark}) {
    Field field = make_field(n, sources, {1.5e8}, 1, noise_jy,
                             [&](std::size_t i, std::size_t, std::size_t) { return sources[i].flux; });
    DeconvolutionSettings settings;
    settings.algorithm = algorithm;
    settings.max_iterations = 20000;
    settings.auto_threshold_sigma = 1.5;
    settings.cycle_gain = 0.8;
    settings.n_threads = 2;
    const CycleReport report = clean(field, settings);
    Buffer<double, 2> psf({2 * n, 2 * n}), image({n, n}), model({n, n});
    std::copy(field.psf.begin(), field.psf.end(), psf.begin());
    std::copy(field.dirty.begin(), field.dirty.end(), image.begin());
    std::copy(field.model.begin(), field.model.end(), model.begin());
    const RestoringBeam beam = fit_beam(psf, {1, 1});
    restore(image, model, beam, {1, 1}, 2);
    double worst_on = 0, worst_off = 0, worst_place = 0;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const PointSource found = measure(image, sources[i]);
      double& worst = i % 2 == 0 ? worst_on : worst_off;
      worst = std::max(worst, std::abs(found.flux / sources[i].flux - 1));
      worst_place = std::max(worst_place, std::hypot(found.x - sources[i].x, found.y - sources[i].y));
    }
    const double residual = rms(field.dirty.view()[0][0]) / rms(field.noise.view()[0][0]);
    BOOST_TEST_MESSAGE(report.sets[0].n_total << " components; fluxes " << worst_on << " on pixels, "
                                              << worst_off << " between; places "
                                              << worst_place / beam.minor_rad << " beams; residual "
                                              << residual << " times the noise");
    BOOST_TEST(worst_on < 1e-3);
    BOOST_TEST(worst_off < 1e-2);
    BOOST_TEST(worst_place < 0.05 * beam.minor_rad);
    BOOST_TEST(residual < 1.05);
  }
}

BOOST_AUTO_TEST_CASE(multiscale_recovers_an_extended_flux) {
  // A Gaussian of 24 pixels FWHM (about 4 beams) as many points, and a point source beside it.
  const std::size_t n = 200;
  std::vector<PointSource> sources;
  double sum = 0;
  const double sigma = 24 / 2.3548;
  for (int dy = -30; dy <= 30; dy += 2)
    for (int dx = -30; dx <= 30; dx += 2) {
      sources.push_back({90.0 + dx, 100.0 + dy, std::exp(-0.5 * (dx * dx + dy * dy) / (sigma * sigma))});
      sum += sources.back().flux;
    }
  for (PointSource& source : sources) source.flux *= 5 / sum;
  sources.push_back({165, 40, 1});
  Field field = make_field(n, sources, {1.5e8}, 1, 3e-4,
                           [&](std::size_t i, std::size_t, std::size_t) { return sources[i].flux; });
  DeconvolutionSettings settings;
  settings.algorithm = CleanAlgorithm::multiscale;
  settings.max_iterations = 20000;
  settings.auto_threshold_sigma = 1.5;
  settings.cycle_gain = 0.8;
  settings.n_threads = 2;
  const CycleReport report = clean(field, settings);
  const View<const float, 2> model(&field.model(0, 0, 0, 0), {n, n});
  const double extended = flux_around(model, 90, 100, 45), point = flux_around(model, 165, 40, 5);
  const double residual = rms(field.dirty.view()[0][0]) / rms(field.noise.view()[0][0]);
  BOOST_TEST_MESSAGE(report.sets[0].n_total << " components; " << extended << " of 5 Jy, " << point
                                            << " of 1 Jy; residual " << residual << " times the noise");
  BOOST_TEST(std::abs(extended / 5 - 1) < 0.02);
  BOOST_TEST(std::abs(point - 1) < 0.01);
  BOOST_TEST(residual < 1.2);
}

// The norm of four planes' noise and sidelobes is positive everywhere: smoothed, it stays as high as it is,
// where the norm of smoothed planes falls. A scale that is chosen by the first has nothing to clean.
BOOST_AUTO_TEST_CASE(an_extended_flux_is_recovered_in_joined_polarisations) {
  const std::size_t n = 200;
  std::vector<PointSource> sources;
  const double sigma = 24 / 2.3548;
  for (int dy = -30; dy <= 30; dy += 2)
    for (int dx = -30; dx <= 30; dx += 2)
      sources.push_back({90.0 + dx, 100.0 + dy, std::exp(-0.5 * (dx * dx + dy * dy) / (sigma * sigma))});
  double sum = 0;
  for (const PointSource& source : sources) sum += source.flux;
  for (PointSource& source : sources) source.flux *= 50 / sum;
  sources.push_back({165, 40, 1});
  for (const bool channels : {false, true}) {
    const std::vector<double> freq_hz =
        channels ? std::vector<double>{1.45e8, 1.55e8} : std::vector<double>{1.5e8};
    Field field = make_field(n, sources, freq_hz, 4, 1e-3, [&](std::size_t i, std::size_t, std::size_t p) {
      return p == 0 ? sources[i].flux : p == 1 ? -0.1 * sources[i].flux : 0;
    });
    DeconvolutionSettings settings;
    settings.algorithm = CleanAlgorithm::multiscale;
    settings.max_iterations = 20000;
    settings.auto_threshold_sigma = 3;
    settings.cycle_gain = 0.8;
    settings.join_polarizations = true;
    settings.join_channels = channels;
    settings.n_threads = 2;
    const CycleReport report = clean(field, settings);
    const SetReport& left = report.sets[0];
    const View<const float, 2> stokes_i(&field.model(0, 0, 0, 0), {n, n}),
        stokes_q(&field.model(0, 1, 0, 0), {n, n});
    const double i_jy = flux_around(stokes_i, 90, 100, 45), q_jy = flux_around(stokes_q, 90, 100, 45);
    BOOST_TEST_MESSAGE(report.sets[0].n_total << " components, peak " << left.peak_jy << ", noise "
                                              << left.noise_jy << "; " << i_jy << " of 50 Jy, " << q_jy
                                              << " of -5 Jy");
    BOOST_TEST(int(left.stop) == int(CleanStop::noise));
    BOOST_TEST(describe_excess(left, FluxUnit::jansky) == "");
    BOOST_TEST(left.peak_jy < 3.3 * left.noise_jy);
    BOOST_TEST(std::abs(i_jy / 50 - 1) < 0.01);
    BOOST_TEST(std::abs(q_jy / -5 - 1) < 0.02);
  }
}

BOOST_AUTO_TEST_CASE(multiscale_takes_the_components_of_the_literal_loop) {
  // Two Gaussians as many points, one of them at an edge, and points.
  const std::size_t n = 90;
  std::vector<PointSource> sources{{70, 22, 0.5}, {11, 14, 0.3}};
  for (int dy = -12; dy <= 12; dy += 2)
    for (int dx = -12; dx <= 12; dx += 2)
      for (const auto& [x, y, sigma] : {std::array<double, 3>{40, 50, 5}, {84, 76, 3}})
        sources.push_back({x + dx / 2., y + dy, 0.04 * std::exp(-0.5 * (dx * dx + dy * dy) / sigma / sigma)});
  const Field made = make_field(n, sources, {1.5e8}, 1, 1e-3,
                                [&](std::size_t i, std::size_t, std::size_t) { return sources[i].flux; });
  for (const auto& [psf_n, masked] : {std::pair{n, false}, {n, true}, {n / 2 + 1, false}}) {
    // The middle of the PSF, of the image's size or less: nothing of it wraps around.
    Field field = copy_of(made);
    field.psf.resize({1, 1, psf_n, psf_n});
    for (std::size_t y = 0; y < psf_n; ++y)
      std::copy_n(&made.psf(0, 0, n - psf_n / 2 + y, n - psf_n / 2), psf_n, &field.psf(0, 0, y, 0));
    DeconvolutionSettings settings;
    settings.algorithm = CleanAlgorithm::multiscale;
    settings.scales_pixels = {0, 9, 18, 31};
    settings.max_iterations = 600;
    settings.n_threads = 2;
    reference::MultiscaleTask task;
    task.widths = settings.scales_pixels;
    task.n_steps = settings.max_iterations;
    task.search_reach = psf_n / 2 + scale_reach(make_scales(settings, 5, n));
    task.allowed.assign(n * n, true);
    Buffer<std::uint8_t, 2> mask({n, n});
    for (std::size_t i = 0; i < n * n; ++i) {
      task.allowed[i] = !masked || (i % n + i / n) % 5 != 0;
      mask.data()[i] = task.allowed[i];
    }
    reference::HogbomImage expected{n, n, {field.dirty.begin(), field.dirty.end()}},
        psf{psf_n, psf_n, {field.psf.begin(), field.psf.end()}};
    const auto steps = reference::multiscale(expected, psf, task);
    Deconvolver deconvolver(settings, field.psf, field.groups, {1, n, n}, 5);
    deconvolver.set_mask(mask);
    BOOST_TEST(deconvolver.minor_cycle(field.dirty, field.model).n_components == steps.size());
    std::map<std::tuple<double, std::size_t, std::size_t>, double> difference;
    for (const auto& step : steps) difference[{task.widths[step.scale], step.y, step.x}] += step.flux;
    for (const ModelComponent& found : deconvolver.components())
      difference[{found.scale_pixels, found.y, found.x}] -= found.flux_jy[0];
    double worst = 0, worst_residual = 0;
    for (const auto& [place, flux] : difference) worst = std::max(worst, std::abs(flux));
    for (std::size_t i = 0; i < n * n; ++i)
      worst_residual = std::max(worst_residual, std::abs(double(field.dirty.data()[i]) - expected.pixels[i]));
    BOOST_TEST_MESSAGE("PSF of " << psf_n << ": " << difference.size() << " places, the last component "
                                 << steps.back().flux << "; errors of a flux " << worst
                                 << ", of the residual " << worst_residual);
    // float32 rounding, 6e-8 of the sky's 1 Jy/beam in every subtraction; measured 5e-8 and 1.1e-7
    BOOST_TEST(worst <= 1e-6);
    BOOST_TEST(worst_residual <= 1e-6);
  }
}

BOOST_AUTO_TEST_CASE(joined_polarisations_recover_polarised_fluxes) {
  const std::vector<PointSource> sources{{40, 50, 1}, {101, 32, 0.6}, {70, 95, 0.8}};
  const double stokes[3][4] = {{1, 0.1, -0.05, 0.02}, {0.6, 0, 0.3, 0}, {0.8, -0.2, 0.1, -0.1}};
  Field field = make_field(140, sources, {1.5e8}, 4, 1e-4,
                           [&](std::size_t i, std::size_t, std::size_t p) { return stokes[i][p]; });
  DeconvolutionSettings settings;
  settings.max_iterations = 5000;
  settings.auto_threshold_sigma = 5;
  settings.cycle_gain = 0.8;
  settings.join_polarizations = true;
  settings.n_threads = 2;
  const CycleReport report = clean(field, settings);
  BOOST_TEST(report.sets.size() == 1u);
  double worst = 0;
  for (std::size_t i = 0; i < sources.size(); ++i)
    for (std::size_t p = 0; p < 4; ++p) {
      const View<const float, 2> model(&field.model(0, p, 0, 0), {140, 140});
      worst = std::max(
          worst, std::abs(flux_around(model, sources[i].x, sources[i].y, 5) - stokes[i][p]) / stokes[i][0]);
    }
  BOOST_TEST_MESSAGE(report.sets[0].n_total << " components: largest error " << worst << " of Stokes I");
  BOOST_TEST(worst < 0.01);
}

// A peak that is the threshold rounded to float32, above it in float64, has nothing to select.
BOOST_AUTO_TEST_CASE(a_peak_at_the_threshold_ends_every_algorithm) {
  const std::size_t n = 16;
  Buffer<float, 4> psf({1, 1, n, n});
  psf(0, 0, n / 2, n / 2) = 1;
  for (const CleanAlgorithm algorithm : {CleanAlgorithm::hogbom, CleanAlgorithm::clark}) {
    DeconvolutionSettings settings;
    settings.algorithm = algorithm;
    settings.max_iterations = 100;
    settings.threshold_jy = 0.1;
    Buffer<float, 4> residual({1, 1, n, n}), model({1, 1, n, n});
    residual(0, 0, 3, 5) = 0.1f;
    Deconvolver deconvolver(settings, psf, {DeconvolutionGroup{}}, PlaneShape{1, n, n});
    const CycleReport report = deconvolver.minor_cycle(residual, model);
    BOOST_TEST(!report.unfinished);
    BOOST_TEST(report.n_components <= 1u);
  }
}

BOOST_AUTO_TEST_SUITE_END()
