// SPDX-License-Identifier: GPL-3.0-or-later
// Sets of planes that are cleaned together, with PSFs so simple that the outcome can be told by hand: what
// weighs where in the search, what a component takes from each plane, and what is reported of it.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "kernels/clean/cpu/sub_images.h"
#include "kernels/clean/deconvolve.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(plane_sets)

namespace {

constexpr std::size_t kSize = 64;

/// PSFs of twice the image's size, each a point with one sidelobe `sidelobe[group]` some pixels to the right.
constexpr std::size_t kToSidelobe = 5;
Buffer<float, 4> psfs(const std::vector<float>& sidelobe) {
  Buffer<float, 4> psf({sidelobe.size(), 1, 2 * kSize, 2 * kSize});
  for (std::size_t g = 0; g < sidelobe.size(); ++g) {
    psf(g, 0, kSize, kSize) = 1;
    psf(g, 0, kSize, kSize + kToSidelobe) = sidelobe[g];
  }
  return psf;
}

struct Images {
  Buffer<float, 4> residual, model;
  explicit Images(std::size_t n_group, std::size_t n_pol = 1)
      : residual({n_group, n_pol, kSize, kSize}), model({n_group, n_pol, kSize, kSize}) {}
};

DeconvolutionSettings joined_channels() {
  DeconvolutionSettings settings;
  settings.gain = 1;
  settings.max_iterations = 1;
  settings.join_channels = true;
  return settings;
}

}  // namespace

// 8 and 0 Jy are higher than 1 and 3 Jy in the mean of two equal groups, and lower where the second weighs
// three times as much.
BOOST_AUTO_TEST_CASE(groups_weigh_in_the_search_as_they_do_in_the_mean) {
  const Buffer<float, 4> psf = psfs({0, 0});
  for (const CleanAlgorithm algorithm : {CleanAlgorithm::hogbom, CleanAlgorithm::clark})
    for (const double weight : {1.0, 3.0}) {
      Images images(2);
      images.residual(0, 0, 20, 10) = 8;
      images.residual(0, 0, 40, 50) = 1;
      images.residual(1, 0, 40, 50) = 3;
      DeconvolutionSettings settings = joined_channels();
      settings.algorithm = algorithm;
      Deconvolver deconvolver(settings, psf, {{1e8, 2}, {2e8, 2 * weight}}, {1, kSize, kSize});
      const CycleReport report = deconvolver.minor_cycle(images.residual, images.model);
      const bool second = weight > 1;
      BOOST_TEST(images.model(0, 0, 20, 10) == (second ? 0.0f : 8.0f));
      BOOST_TEST(images.model(0, 0, 40, 50) == (second ? 1.0f : 0.0f));
      BOOST_TEST(images.model(1, 0, 40, 50) == (second ? 3.0f : 0.0f));
      BOOST_TEST(std::abs(report.sets[0].start_peak_jy - (second ? 2.5 : 4.0)) < 1e-6);
      BOOST_TEST(std::abs(report.sets[0].model_flux_jy - (second ? 2.5 : 4.0)) < 1e-6);
    }
}

// Noise of 1 Jy on the left and of 10 Jy on the right: 30 Jy on the right are three times the noise there and
// stay below 5 sigma, and 12 Jy on the left come first.
BOOST_AUTO_TEST_CASE(local_noise_weighs_peaks_and_thresholds) {
  const Buffer<float, 4> psf = psfs({0});
  for (const CleanAlgorithm algorithm : {CleanAlgorithm::hogbom, CleanAlgorithm::clark}) {
    Images images(1);
    std::mt19937_64 random(3);
    for (std::size_t i = 0; i < images.residual.size(); ++i) {
      // Uniform noise has no tail that could reach the threshold.
      const float unit = std::uniform_real_distribution<float>(-2, 2)(random);
      images.residual.data()[i] = i % kSize < kSize / 2 ? unit : 10 * unit;
    }
    images.residual(0, 0, 30, 10) = 12;
    images.residual(0, 0, 30, 54) = 30;
    DeconvolutionSettings settings;
    settings.algorithm = algorithm;
    settings.gain = 1;
    settings.max_iterations = 100;
    settings.auto_threshold_sigma = 5;
    settings.local_rms_beams = 5;
    Deconvolver deconvolver(settings, psf, {DeconvolutionGroup{}}, {1, kSize, kSize}, 3);
    const CycleReport report = deconvolver.minor_cycle(images.residual, images.model);
    BOOST_TEST(report.n_components == 1u);
    BOOST_TEST(images.model(0, 0, 30, 10) == 12.0f);
    BOOST_TEST(images.model(0, 0, 30, 54) == 0.0f);
    // The lowest noise: 1.48 times the median of |x|, which is 1, in boxes of 15 pixels.
    BOOST_TEST(report.sets[0].noise_jy > 0.8);
    BOOST_TEST(report.sets[0].noise_jy < 1.6);
    BOOST_TEST(std::abs(report.sets[0].threshold_jy / report.sets[0].noise_jy - 5) < 1e-6);
  }
}

// Groups of weights 1 and 3 whose PSFs have sidelobes of 0 and 0.8 have a mean PSF with one of 0.6, which is
// what the mean image has beside a point: one component explains all of it. Each group then loses its own
// PSF, at the frequency of its own.
BOOST_AUTO_TEST_CASE(averaged_groups_have_the_average_of_psfs) {
  const std::vector<float> sidelobe{0, 0.8f, 0.4f, 0.2f};
  const std::vector<DeconvolutionGroup> groups{{1.0e8, 1}, {1.2e8, 3}, {1.5e8, 2}, {1.7e8, 1}};
  const Buffer<float, 4> psf = psfs(sidelobe);
  // A straight spectrum, which both averages lie on at the mean of their frequencies.
  auto flux = [&](std::size_t g) { return 2 + 10 * (groups[g].freq_hz / 1.4e8 - 1); };
  for (const CleanAlgorithm algorithm : {CleanAlgorithm::hogbom, CleanAlgorithm::clark}) {
    Images images(4);
    for (std::size_t g = 0; g < 4; ++g) {
      images.residual(g, 0, 30, 20) = static_cast<float>(flux(g));
      // The sidelobe of a source with the mean flux of its range, so that the mean image has that of its PSF.
      const std::size_t other = g < 2 ? 1 - g : 5 - g;
      const double weight = groups[g].weight + groups[other].weight;
      const double mean = (groups[g].weight * flux(g) + groups[other].weight * flux(other)) / weight;
      images.residual(g, 0, 30, 20 + kToSidelobe) = static_cast<float>(double(sidelobe[g]) * mean);
    }
    DeconvolutionSettings settings = joined_channels();
    settings.algorithm = algorithm;
    settings.max_iterations = 100;
    settings.threshold_jy = 1e-4;
    settings.n_deconvolution_channels = 2;
    settings.spectral_fit = SpectralFit::polynomial;
    settings.n_spectral_terms = 2;
    Deconvolver deconvolver(settings, psf, groups, {1, kSize, kSize});
    const CycleReport report = deconvolver.minor_cycle(images.residual, images.model);
    BOOST_TEST(report.n_components == 1u);
    double mean_flux = 0;
    for (std::size_t g = 0; g < 4; ++g) {
      mean_flux += groups[g].weight * flux(g) / 7;
      BOOST_TEST(std::abs(double(images.model(g, 0, 30, 20)) - flux(g)) < 1e-5);
      BOOST_TEST(std::abs(double(images.residual(g, 0, 30, 20))) < 1e-5);
    }
    BOOST_TEST(std::abs(report.sets[0].model_flux_jy - mean_flux) < 1e-5);
    // The first group's PSF has no sidelobe to take; the second loses that of its own flux.
    BOOST_TEST(std::abs(double(images.residual(0, 0, 30, 20 + kToSidelobe))) < 1e-6);
    const double mean = (flux(0) + 3 * flux(1)) / 4;
    BOOST_TEST(std::abs(double(images.residual(1, 0, 30, 20 + kToSidelobe)) - 0.8 * (mean - flux(1))) < 1e-5);
  }
}

// Polarisations that are cleaned one by one are sets of their own, in order, and their components have a flux
// in their own plane alone.
BOOST_AUTO_TEST_CASE(components_name_their_own_polarisation) {
  const Buffer<float, 4> psf = psfs({0, 0});
  Images images(2, 3);
  for (std::size_t g = 0; g < 2; ++g)
    for (std::size_t p = 0; p < 3; ++p)
      images.residual(g, p, 10 + 10 * p, 7) = static_cast<float>(1 + 10 * p + 100 * g);
  DeconvolutionSettings settings = joined_channels();
  Deconvolver deconvolver(settings, psf, {{1e8, 1}, {2e8, 1}}, {3, kSize, kSize});
  const CycleReport report = deconvolver.minor_cycle(images.residual, images.model);
  BOOST_REQUIRE(report.sets.size() == 3u);
  for (std::size_t p = 0; p < 3; ++p) {
    BOOST_TEST(report.sets[p].first_pol == p);
    BOOST_TEST(report.sets[p].n_pols == 1u);
    BOOST_TEST(std::abs(report.sets[p].model_flux_jy - double(51 + 10 * p)) < 1e-5);
  }
  const std::vector<ModelComponent> components = deconvolver.components();
  BOOST_REQUIRE(components.size() == 3u);
  for (const ModelComponent& component : components) {
    BOOST_REQUIRE(component.flux_jy.size() == 6u);
    const std::size_t own = component.y / 10 - 1;
    for (std::size_t g = 0; g < 2; ++g)
      for (std::size_t p = 0; p < 3; ++p)
        BOOST_TEST(component.flux_jy[g * 3 + p] == (p == own ? double(1 + 10 * p + 100 * g) : 0));
  }
}

// The flux that is reported of joined polarisations is the first one's, as the groups weigh.
BOOST_AUTO_TEST_CASE(the_flux_of_joined_polarisations_is_that_of_the_first) {
  const Buffer<float, 4> psf = psfs({0, 0});
  Images images(2, 2);
  for (std::size_t g = 0; g < 2; ++g)
    for (std::size_t p = 0; p < 2; ++p) images.residual(g, p, 20, 30) = static_cast<float>(1 + 2 * p + 4 * g);
  DeconvolutionSettings settings = joined_channels();
  settings.join_polarizations = true;
  Deconvolver deconvolver(settings, psf, {{1e8, 1}, {2e8, 3}}, {2, kSize, kSize});
  const CycleReport report = deconvolver.minor_cycle(images.residual, images.model);
  BOOST_REQUIRE(report.sets.size() == 1u);
  BOOST_TEST(report.sets[0].n_pols == 2u);
  for (std::size_t g = 0; g < 2; ++g)
    for (std::size_t p = 0; p < 2; ++p)
      BOOST_TEST(images.model(g, p, 20, 30) == static_cast<float>(1 + 2 * p + 4 * g));
  BOOST_TEST(std::abs(report.sets[0].model_flux_jy - 4.0) < 1e-6);  // (1 x 1 + 3 x 5) / 4
  const std::vector<ModelComponent> components = deconvolver.components();
  BOOST_REQUIRE(components.size() == 1u);
  for (std::size_t g = 0; g < 2; ++g)
    for (std::size_t p = 0; p < 2; ++p)
      BOOST_TEST(components[0].flux_jy[g * 2 + p] == double(1 + 2 * p + 4 * g));
}

// Noise is that of the first polarisation's mean over groups: twenty times as much in the second is not seen.
BOOST_AUTO_TEST_CASE(noise_is_that_of_the_first_polarisation) {
  const Buffer<float, 4> psf = psfs({0, 0});
  Images images(2, 2);
  std::mt19937_64 random(7);
  std::normal_distribution<float> normal;
  for (std::size_t g = 0; g < 2; ++g)
    for (std::size_t p = 0; p < 2; ++p)
      for (float& pixel : images.residual.view()[g][p]) pixel = (p == 0 ? 1.0f : 20.0f) * normal(random);
  DeconvolutionSettings settings = joined_channels();
  settings.join_polarizations = true;
  settings.auto_threshold_sigma = 1000;
  Deconvolver deconvolver(settings, psf, {{1e8, 1}, {2e8, 1}}, {2, kSize, kSize});
  const CycleReport report = deconvolver.minor_cycle(images.residual, images.model);
  // 1 / sqrt 2, to 5 times the error of a median of 4096 values, 1.2 %
  BOOST_TEST(std::abs(report.sets[0].noise_jy * std::sqrt(2.0) - 1) < 0.06);
}

// Heights of scales are compared with a bias, and a stay at one scale has limits without it: a scale so much
// narrower than the beam that its bias is 0.32 is no divergence.
BOOST_AUTO_TEST_CASE(a_bias_far_below_one_is_no_divergence) {
  const Buffer<float, 4> psf = psfs({0});
  Images images(1);
  for (std::size_t y = 0; y < kSize; ++y)
    for (std::size_t x = 0; x < kSize; ++x) {
      const double r2 = std::pow(double(x) - 32, 2) + std::pow(double(y) - 32, 2);
      images.residual(0, 0, y, x) = static_cast<float>(std::exp(-r2 / 100));
    }
  DeconvolutionSettings settings;
  settings.algorithm = CleanAlgorithm::multiscale;
  settings.scales_pixels = {10};
  settings.scale_bias = 0.4;
  settings.gain = 0.2;
  settings.max_iterations = 5000;
  settings.threshold_jy = 0.05;
  Deconvolver deconvolver(settings, psf, {DeconvolutionGroup{}}, {1, kSize, kSize}, 12);
  const CycleReport report = deconvolver.minor_cycle(images.residual, images.model);
  BOOST_TEST(report.n_components > 10u);
  BOOST_TEST(int(report.sets[0].stop) == int(CleanStop::threshold));
}

namespace {

/// One plane of delta functions and the set that cleans it.
struct Points {
  Buffer<float, 2> residual{{kSize, kSize}}, psf{{2 * kSize, 2 * kSize}}, weight{{kSize, kSize}};
  PlaneSet set;
  Points() {
    psf(kSize, kSize) = 1;
    weight.fill(1);
    set.residual = {residual};
    set.psf = {psf};
    set.weight = {1};
    set.search_weight = weight;
  }
  PartsEnd clean(const LoopLimits& limits, double gain) {
    const SubImages sub_images(32, set.psf, 1);
    return clean_high_pixels(
        set, limits,
        [gain](const SetPeak& peak) {
          return SetComponent{peak.x, peak.y, {static_cast<float>(gain) * peak.residual[0]}};
        },
        &sub_images, 1e-6, 1);
  }
};

}  // namespace

// Each of n parts takes half of an n-th of the components that are left at most, and the loop comes back for
// the rest: no more are taken than were asked for.
BOOST_AUTO_TEST_CASE(parts_share_what_is_left_of_the_iterations) {
  Points points;
  points.residual(10, 10) = points.residual(50, 50) = 1;
  LoopLimits limits;
  limits.level_jy = 1e-30;
  limits.divergence_jy = 10;
  limits.max_components = 1001;
  const PartsEnd end = points.clean(limits, 0.01);
  BOOST_TEST(end.found.size() == 2 * (1001u / 4));
  BOOST_TEST(int(end.stop) == int(LoopStop::level));
  // Too few to be shared: one loop counts them out.
  limits.max_components = 300;
  const PartsEnd few = points.clean(limits, 0.01);
  BOOST_TEST(few.found.size() == 300u);
  BOOST_TEST(int(few.stop) == int(LoopStop::iterations));
}

// A peak above the limit ends the part that it is in, and the others' end does not hide that.
BOOST_AUTO_TEST_CASE(a_part_that_diverges_ends_them_all) {
  for (const bool first : {true, false}) {
    Points points;
    points.residual(10, 10) = first ? 5 : 1;
    points.residual(50, 50) = first ? 1 : 5;
    LoopLimits limits;
    limits.level_jy = 0.5;
    limits.divergence_jy = 3;
    limits.max_components = 1000;
    const PartsEnd end = points.clean(limits, 0.1);
    BOOST_TEST(int(end.stop) == int(LoopStop::divergence));
    for (const FoundComponent& found : end.found) BOOST_TEST(found.component.x == (first ? 50u : 10u));
  }
}

BOOST_AUTO_TEST_SUITE_END()
