// SPDX-License-Identifier: GPL-3.0-or-later
// Deconvolver against a literal Hogbom loop, and its stopping rules.
#include "kernels/clean/deconvolve.h"
#include "kernels/clean/noise.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "tests/reference/hogbom.h"
#include "tests/reference/synthetic_array.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(hogbom)

namespace {

struct Scene {
  std::size_t nx, ny, psf_nx, psf_ny;
  std::vector<double> dirty, psf;
  std::vector<std::uint8_t> searchable;

  PlaneShape shape() const { return {1, ny, nx}; }
};

Buffer<float, 4> to_float(const std::vector<double>& pixels, std::size_t ny, std::size_t nx) {
  Buffer<float, 4> image({1, 1, ny, nx});
  std::copy(pixels.begin(), pixels.end(), image.begin());
  return image;
}

Scene make_scene(std::size_t nx, std::size_t ny, std::size_t psf_nx, std::size_t psf_ny) {
  Scene scene{nx, ny, psf_nx, psf_ny, {}, {}, std::vector<std::uint8_t>(nx * ny, 1)};
  const auto coverage = reference::make_coverage(30, nx);
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform;
  std::normal_distribution<double> normal;
  std::vector<reference::PointSource> sources;
  for (int i = 0; i < 12; ++i)
    sources.push_back(
        {uniform(random) * double(nx - 1), uniform(random) * double(ny - 1), 0.2 + uniform(random)});
  sources.push_back({0, double(ny - 1), 1.1});  // in a corner: its PSF leaves the image
  sources.push_back({double(nx) / 3, 1, -0.7});
  scene.dirty = reference::dirty_image(coverage, sources, nx, ny);
  for (double& value : scene.dirty) value += 0.002 * normal(random);
  scene.psf = reference::dirty_image(coverage, {{double(psf_nx / 2), double(psf_ny / 2), 1}}, psf_nx, psf_ny);
  return scene;
}

/// Scenes whose components were the literal loop's to the last.
int n_same = 0;

/// Runs both and compares models and residuals; returns the number of components.
std::size_t compare(const Scene& scene, const DeconvolutionSettings& settings) {
  // Both begin with the same numbers.
  std::vector<double> dirty(scene.dirty.size());
  reference::HogbomImage psf{scene.psf_nx, scene.psf_ny, std::vector<double>(scene.psf.size())};
  Buffer<float, 4> residual = to_float(scene.dirty, scene.ny, scene.nx),
                   float_psf = to_float(scene.psf, scene.psf_ny, scene.psf_nx);
  std::copy(residual.begin(), residual.end(), dirty.begin());
  std::copy(float_psf.begin(), float_psf.end(), psf.pixels.begin());
  reference::HogbomImage expected{scene.nx, scene.ny, dirty};
  std::vector<bool> allowed(scene.searchable.begin(), scene.searchable.end());
  const auto steps = reference::hogbom(expected, psf, allowed, settings.gain, settings.max_iterations,
                                       settings.threshold_jy, settings.negative == NegativeComponents::skip);
  Deconvolver deconvolver(settings, float_psf, {{1.5e8, 1}}, scene.shape());
  deconvolver.set_mask({scene.searchable.data(), {scene.ny, scene.nx}});
  Buffer<float, 4> model({1, 1, scene.ny, scene.nx});
  const CycleReport report = deconvolver.minor_cycle(residual, model);
  std::vector<double> expected_model(scene.dirty.size());
  for (const auto& step : steps) expected_model[step.y * scene.nx + step.x] += step.flux;
  double highest = 0, worst_model = 0, worst_residual = 0;
  for (std::size_t i = 0; i < residual.size(); ++i) {
    BOOST_REQUIRE(std::isfinite(double(residual.data()[i])) == std::isfinite(expected.pixels[i]));
    worst_model = std::max(worst_model, std::abs(double(model.data()[i]) - expected_model[i]));
    if (!std::isfinite(expected.pixels[i])) continue;
    highest = std::max(highest, std::abs(dirty[i]));
    worst_residual = std::max(worst_residual, std::abs(double(residual.data()[i]) - expected.pixels[i]));
  }
  // What the model explains has left the residual. float32 rounding: 6e-8 of the pixel in every subtraction
  // that changes it, in geometric sums; largest error measured 5e-7.
  reference::HogbomImage explained{scene.nx, scene.ny, dirty};
  for (std::size_t i = 0; i < residual.size(); ++i)
    if (const double flux = double(model.data()[i]); flux != 0)
      reference::subtract(explained, psf, i % scene.nx, i / scene.nx, flux);
  double worst_explained = 0;
  for (std::size_t i = 0; i < residual.size(); ++i)
    if (std::isfinite(explained.pixels[i]))
      worst_explained = std::max(worst_explained, std::abs(double(residual.data()[i]) - explained.pixels[i]));
  // Once two pixels are equal but for rounding, the order of components can differ from the literal one, and
  // at the end the last of them.
  const double rounding = 1e-6 * highest, last = steps.empty() ? 0 : 6 * std::abs(steps.back().flux);
  BOOST_TEST_MESSAGE(steps.size() << " and " << report.n_components << " components, model error "
                                  << worst_model << ", residual error " << worst_residual << ", allowed "
                                  << rounding << " + " << last << "; not explained " << worst_explained);
  BOOST_TEST(report.n_components == steps.size());
  BOOST_TEST(worst_explained <= rounding);
  BOOST_TEST(worst_model <= rounding + last);
  BOOST_TEST(worst_residual <= rounding + last);
  n_same += worst_model <= rounding;
  return report.n_components;
}

}  // namespace

BOOST_AUTO_TEST_CASE(same_components_as_the_literal_loop) {
  DeconvolutionSettings options;
  options.algorithm = CleanAlgorithm::hogbom;
  options.max_iterations = 1500;
  for (const auto& [nx, ny, psf_nx, psf_ny] : {std::array<std::size_t, 4>{200, 200, 400, 400},
                                               {200, 150, 200, 150},
                                               {131, 203, 131, 203},
                                               {65, 64, 301, 33},
                                               {150, 150, 40, 41},
                                               {300, 20, 599, 39}}) {
    const Scene scene = make_scene(nx, ny, psf_nx, psf_ny);
    BOOST_TEST(compare(scene, options) == 1500u);
  }
  BOOST_TEST(n_same >= 3);  // 4 of 6
}

BOOST_AUTO_TEST_CASE(options_masks_and_blanks_act_as_in_the_literal_loop) {
  Scene scene = make_scene(170, 140, 340, 280);
  DeconvolutionSettings options;
  options.algorithm = CleanAlgorithm::hogbom;
  options.max_iterations = 100000;
  options.gain = 0.37;
  options.threshold_jy = 0.1;
  const std::size_t n = compare(scene, options);
  BOOST_TEST((n > 20 && n < 100000));
  options.negative = NegativeComponents::skip;
  options.max_iterations = 300;
  compare(scene, options);
  options.negative = NegativeComponents::allow;
  std::mt19937 random(3);
  for (std::size_t i = 0; i < scene.searchable.size(); ++i) {
    const double x = double(i % scene.nx) - 85, y = double(i / scene.nx) - 70;
    if (x * x + y * y > 60 * 60) scene.dirty[i] = std::nan("");  // beyond the horizon
    if (random() % 3 == 0 || i % scene.nx < 64) scene.searchable[i] = 0;
  }
  scene.dirty[70 * scene.nx + 85] = INFINITY;
  options.threshold_jy = 0;
  compare(scene, options);
}

BOOST_AUTO_TEST_CASE(denormal_heights_end) {
  // More pixels than are chosen at a time, all as high: the cutoff below them is rounded to their height.
  const Scene scene = make_scene(128, 128, 255, 255);
  const Buffer<float, 4> psf = to_float(scene.psf, scene.psf_ny, scene.psf_nx);
  for (const CleanAlgorithm algorithm :
       {CleanAlgorithm::hogbom, CleanAlgorithm::clark, CleanAlgorithm::multiscale}) {
    DeconvolutionSettings settings;
    settings.algorithm = algorithm;
    settings.max_iterations = 100;
    Buffer<float, 4> residual({1, 1, 128, 128}), model({1, 1, 128, 128});
    std::fill(residual.begin(), residual.end(), 1e-44f);
    Deconvolver deconvolver(settings, psf, {{1.5e8, 1}}, scene.shape(), 5);
    BOOST_TEST(deconvolver.minor_cycle(residual, model).n_components <= 100u);
  }
}

BOOST_AUTO_TEST_CASE(result_does_not_depend_on_threads) {
  const Scene scene = make_scene(260, 210, 519, 419);
  const Buffer<float, 4> psf = to_float(scene.psf, scene.psf_ny, scene.psf_nx);
  for (const CleanAlgorithm algorithm :
       {CleanAlgorithm::hogbom, CleanAlgorithm::clark, CleanAlgorithm::multiscale}) {
    std::vector<float> first;
    for (const unsigned n_threads : {1u, 2u, 4u, 7u}) {
      DeconvolutionSettings settings;
      settings.algorithm = algorithm;
      settings.max_iterations = 2000;
      settings.auto_threshold_sigma = 4;
      settings.n_threads = n_threads;
      Buffer<float, 4> residual = to_float(scene.dirty, scene.ny, scene.nx),
                       model({1, 1, scene.ny, scene.nx});
      Deconvolver deconvolver(settings, psf, {{1.5e8, 1}}, scene.shape(), 5);
      deconvolver.minor_cycle(residual, model);
      std::vector<float> all(residual.begin(), residual.end());
      all.insert(all.end(), model.begin(), model.end());
      if (first.empty()) first = all;
      BOOST_TEST(std::memcmp(first.data(), all.data(), all.size() * sizeof(float)) == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(stops_say_why) {
  const Scene scene = make_scene(128, 128, 256, 256);
  Buffer<float, 4> residual;
  auto clean = [&](const DeconvolutionSettings& settings, const std::vector<double>& dirty,
                   const std::vector<double>& from_psf) {
    residual = to_float(dirty, scene.ny, scene.nx);
    const Buffer<float, 4> psf = to_float(from_psf, scene.psf_ny, scene.psf_nx);
    Buffer<float, 4> model({1, 1, scene.ny, scene.nx});
    Deconvolver deconvolver(settings, psf, {{1.5e8, 1}}, scene.shape(), 5);
    CycleReport report = deconvolver.minor_cycle(residual, model);
    while (report.unfinished) report = deconvolver.minor_cycle(residual, model);
    return report.sets[0];
  };
  for (const CleanAlgorithm algorithm :
       {CleanAlgorithm::hogbom, CleanAlgorithm::clark, CleanAlgorithm::multiscale}) {
    DeconvolutionSettings settings;
    settings.algorithm = algorithm;
    settings.scales_pixels = {0, 12};
    SetReport result = clean(settings, scene.dirty, scene.psf);
    BOOST_TEST(bool(result.stop == CleanStop::iterations));
    BOOST_TEST(result.n_total == 0u);

    settings.max_iterations = 100000;
    settings.threshold_jy = 0.02;
    result = clean(settings, scene.dirty, scene.psf);
    BOOST_TEST(bool(result.stop == CleanStop::threshold));
    BOOST_TEST(std::abs(result.peak_jy) <= 0.02);

    settings.threshold_jy = 0;
    settings.auto_threshold_sigma = 5;
    result = clean(settings, scene.dirty, scene.psf);
    BOOST_TEST(bool(result.stop == CleanStop::noise));
    const View<const float, 2> plane(residual.data(), {scene.ny, scene.nx});
    // Measured again until that changes the threshold by less than 5 %.
    BOOST_TEST(std::abs(result.peak_jy) <= 5 * robust_sigma(plane) / 0.95);

    settings.auto_mask_sigma = 7;
    settings.cycle_gain = 0.3;  // sidelobes are noise at first
    result = clean(settings, scene.dirty, scene.psf);
    BOOST_TEST(bool(result.stop == CleanStop::noise));
    BOOST_TEST(result.masked);
    settings.auto_mask_sigma = settings.auto_threshold_sigma = 0;
    settings.cycle_gain = 1;

    settings.negative = NegativeComponents::stop;
    result = clean(settings, scene.dirty, scene.psf);
    BOOST_TEST(bool(result.stop == CleanStop::negative));

    settings.negative = NegativeComponents::allow;
    std::vector<double> wrong = scene.psf;
    for (double& value : wrong) value *= -1;
    if (algorithm != CleanAlgorithm::multiscale)
      BOOST_TEST(bool(clean(settings, scene.dirty, wrong).stop == CleanStop::divergence));
    BOOST_TEST(bool(clean(settings, std::vector<double>(scene.dirty.size()), scene.psf).stop ==
                    CleanStop::nothing_left));
    BOOST_TEST(bool(clean(settings, std::vector<double>(scene.dirty.size(), NAN), scene.psf).stop ==
                    CleanStop::nothing_left));
  }
}

BOOST_AUTO_TEST_CASE(wrong_arguments_are_refused) {
  const Scene scene = make_scene(32, 32, 32, 32);
  auto make = [&](const DeconvolutionSettings& settings, const std::vector<double>& from_psf) {
    const Buffer<float, 4> psf = to_float(from_psf, 32, 32);
    Deconvolver(settings, psf, {{1.5e8, 1}}, scene.shape());
  };
  for (const double gain : {0.0, -0.1, 1.1, double(NAN)}) {
    DeconvolutionSettings settings;
    settings.gain = gain;
    BOOST_CHECK_THROW(make(settings, scene.psf), std::invalid_argument);
  }
  std::vector<double> psf = scene.psf;
  psf[3] = NAN;
  BOOST_CHECK_THROW(make({}, psf), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(robust_sigma_is_that_of_the_noise) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(3, 0.5);
  Buffer<float, 2> image({300, 300});
  for (float& value : image) value = static_cast<float>(normal(random));
  for (int i = 0; i < 300; ++i) image.data()[i * 7] = 1e6f;
  image.data()[1] = NAN;
  // Sampling error of the MAD is 1.17 sigma / sqrt(N); 0.33 % of outliers shift it by 0.5 %.
  BOOST_TEST(std::abs(robust_sigma(image) - 0.5) < 0.5 * (5 * 1.17 / 300 + 0.006));
}

// By whatever way the medians are found, and by any number of threads: they are values of the image.
BOOST_AUTO_TEST_CASE(robust_sigma_is_that_of_sorted_values) {
  std::mt19937_64 random(8);
  for (const std::size_t n : {1u, 2u, 3u, 200u, 1500u}) {
    Buffer<float, 2> image({n, n});
    std::normal_distribution<float> normal(n % 2 == 0 ? 0.0f : -3.0f, 2.0f);
    for (float& pixel : image) pixel = normal(random);
    for (std::size_t i = 0; i < image.size() / 2; i += 7) image.data()[i + 1] = i % 2 == 0 ? NAN : 0;
    std::vector<float> values;
    const std::size_t step = (image.size() >> 20) | 1;
    for (std::size_t i = 0; i < image.size(); i += step)
      if (std::isfinite(image.data()[i])) values.push_back(image.data()[i]);
    const auto middle = [&] {
      std::sort(values.begin(), values.end());
      return values[values.size() / 2];
    };
    const float centre = middle();
    for (float& value : values) value = std::abs(value - centre);
    const double wanted = 1.4826f * middle();
    for (const unsigned n_threads : {1u, 3u}) BOOST_TEST(robust_sigma(image, n_threads) == wanted);
  }
  Buffer<float, 2> blank({3, 3});
  blank.fill(NAN);
  BOOST_TEST(robust_sigma(blank, 2) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
