// SPDX-License-Identifier: GPL-3.0-or-later
// clean_hogbom against a literal Hogbom loop, component for component, and its stopping rules.
#include "kernels/clean/clean.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "tests/reference/hogbom.h"
#include "tests/reference/synthetic_array.h"

using namespace apsyn;

namespace {

struct Scene {
  std::size_t nx, ny, psf_nx, psf_ny;
  std::vector<double> dirty, psf;
  std::vector<std::uint8_t> searchable;

  View<const double, 2> psf_view() const { return {psf.data(), {psf_ny, psf_nx}}; }
  View<const std::uint8_t, 2> searchable_view() const { return {searchable.data(), {ny, nx}}; }
};

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

/// Runs both and compares; returns the number of components.
std::size_t compare(const Scene& scene, const CleanOptions& options) {
  reference::HogbomImage expected{scene.nx, scene.ny, scene.dirty};
  std::vector<bool> allowed(scene.searchable.begin(), scene.searchable.end());
  const auto steps = reference::hogbom(expected, {scene.psf_nx, scene.psf_ny, scene.psf}, allowed,
                                       options.gain, options.max_iterations, options.threshold_jy,
                                       options.negative == NegativeComponents::skip);
  std::vector<double> residual = scene.dirty;
  const CleanResult result = clean_hogbom(View<double, 2>(residual.data(), {scene.ny, scene.nx}),
                                          scene.psf_view(), scene.searchable_view(), options);
  BOOST_TEST(result.components.size() == steps.size());
  // Each pixel sums one product per component; both sums round.
  const double tolerance = 4e-16 * double(steps.size() + 10);
  double worst = 0;
  for (std::size_t i = 0; i < std::min(steps.size(), result.components.size()); ++i) {
    const CleanComponent& component = result.components[i];
    if (component.x != steps[i].x || component.y != steps[i].y) {
      BOOST_ERROR("component " << i << " at " << component.x << "," << component.y << " instead of "
                               << steps[i].x << "," << steps[i].y);
      break;
    }
    worst = std::max(worst, std::abs(component.flux_jy - steps[i].flux));
  }
  double worst_residual = 0;
  for (std::size_t i = 0; i < residual.size(); ++i) {
    BOOST_REQUIRE(std::isfinite(residual[i]) == std::isfinite(expected.pixels[i]));
    if (std::isfinite(residual[i]))
      worst_residual = std::max(worst_residual, std::abs(residual[i] - expected.pixels[i]));
  }
  BOOST_TEST_MESSAGE(steps.size() << " components, flux error " << worst << ", residual error "
                                  << worst_residual << ", allowed " << tolerance);
  BOOST_TEST(worst <= tolerance);
  BOOST_TEST(worst_residual <= tolerance);
  return result.components.size();
}

}  // namespace

BOOST_AUTO_TEST_CASE(same_components_as_the_literal_loop) {
  CleanOptions options;
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
}

BOOST_AUTO_TEST_CASE(same_with_options) {
  Scene scene = make_scene(170, 140, 340, 280);
  CleanOptions options;
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

BOOST_AUTO_TEST_CASE(result_does_not_depend_on_threads) {
  const Scene scene = make_scene(260, 210, 519, 419);
  std::vector<double> first;
  for (const unsigned n_threads : {1u, 2u, 4u, 7u}) {
    CleanOptions options;
    options.max_iterations = 2000;
    options.threshold_sigma = 4;
    options.n_threads = n_threads;
    std::vector<double> residual = scene.dirty;
    clean_hogbom(View<double, 2>(residual.data(), {scene.ny, scene.nx}), scene.psf_view(),
                 scene.searchable_view(), options);
    if (first.empty()) first = residual;
    BOOST_TEST(std::memcmp(first.data(), residual.data(), first.size() * sizeof(double)) == 0);
  }
}

BOOST_AUTO_TEST_CASE(stops_say_why) {
  const Scene scene = make_scene(128, 128, 256, 256);
  auto clean = [&](CleanOptions options, std::vector<double> residual, std::vector<double> psf) {
    return clean_hogbom(View<double, 2>(residual.data(), {scene.ny, scene.nx}),
                        View<const double, 2>(psf.data(), {scene.psf_ny, scene.psf_nx}),
                        scene.searchable_view(), options);
  };
  CleanOptions options;
  CleanResult result = clean(options, scene.dirty, scene.psf);
  BOOST_TEST(bool(result.stop == CleanStop::iterations));
  BOOST_TEST(result.components.empty());

  options.max_iterations = 100000;
  options.threshold_jy = 0.02;
  result = clean(options, scene.dirty, scene.psf);
  BOOST_TEST(bool(result.stop == CleanStop::threshold));
  BOOST_TEST(std::abs(result.peak_jy) <= 0.02);

  options.threshold_jy = 0;
  options.threshold_sigma = 5;
  std::vector<double> residual = scene.dirty;
  result = clean_hogbom(View<double, 2>(residual.data(), {scene.ny, scene.nx}), scene.psf_view(),
                        scene.searchable_view(), options);
  BOOST_TEST(bool(result.stop == CleanStop::noise));
  const double noise = robust_sigma(View<const double, 2>(residual.data(), {scene.ny, scene.nx}));
  // Measured again until that changes the threshold by less than 5 %.
  BOOST_TEST(std::abs(result.peak_jy) <= 5 * noise / 0.95);
  const double first_noise = robust_sigma(View<const double, 2>(scene.dirty.data(), {scene.ny, scene.nx}));
  BOOST_TEST(first_noise > 5 * noise);

  options.threshold_sigma = 0;
  options.negative = NegativeComponents::stop;
  result = clean(options, scene.dirty, scene.psf);
  BOOST_TEST(bool(result.stop == CleanStop::negative));
  BOOST_TEST(result.peak_jy < 0);

  options.negative = NegativeComponents::allow;
  std::vector<double> wrong = scene.psf;
  for (double& value : wrong) value *= -1;
  BOOST_TEST(bool(clean(options, scene.dirty, wrong).stop == CleanStop::divergence));
  BOOST_TEST(bool(clean(options, std::vector<double>(scene.dirty.size()), scene.psf).stop ==
                  CleanStop::nothing_left));
  BOOST_TEST(bool(clean(options, std::vector<double>(scene.dirty.size(), NAN), scene.psf).stop ==
                  CleanStop::nothing_left));
}

BOOST_AUTO_TEST_CASE(wrong_arguments_are_refused) {
  const Scene scene = make_scene(32, 32, 32, 32);
  auto clean = [&](CleanOptions options, std::vector<double> psf) {
    std::vector<double> residual = scene.dirty;
    clean_hogbom(View<double, 2>(residual.data(), {32, 32}), View<const double, 2>(psf.data(), {32, 32}),
                 scene.searchable_view(), options);
  };
  for (const double gain : {0.0, -0.1, 1.1, double(NAN)}) {
    CleanOptions options;
    options.gain = gain;
    BOOST_CHECK_THROW(clean(options, scene.psf), std::invalid_argument);
  }
  std::vector<double> psf = scene.psf;
  psf[3] = NAN;
  BOOST_CHECK_THROW(clean({}, psf), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(robust_sigma_is_that_of_the_noise) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(3, 0.5);
  Buffer<double, 2> image({300, 300});
  for (double& value : image) value = normal(random);
  for (int i = 0; i < 300; ++i) image.data()[i * 7] = 1e6;
  image.data()[1] = NAN;
  // Sampling error of the MAD is 1.17 sigma / sqrt(N); 0.33 % of outliers shift it by 0.5 %.
  BOOST_TEST(std::abs(robust_sigma(image) - 0.5) < 0.5 * (5 * 1.17 / 300 + 0.006));
}
