// SPDX-License-Identifier: GPL-3.0-or-later
// Sub-images cleaned at the same time: the true sky as without them, whatever the number of threads.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "kernels/clean/cpu/sub_images.h"
#include "tests/support/clean_field.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(sub_images)

namespace {

constexpr std::size_t kSize = 240, kSubImage = 80;
constexpr int kPoints = 24;

/// Points on pixels, one in three on a border of sub-images, and a wide Gaussian across two.
std::vector<PointSource> sources() {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform;
  std::vector<PointSource> sources;
  for (int i = 0; i < kPoints; ++i) {
    const double x = 15 + 40 * (i % 6), y = 20 + 56 * (i / 6);
    const double on_border = kSubImage * std::clamp(std::round(x / kSubImage), 1.0, 2.0);
    sources.push_back({i % 3 == 0 ? on_border : x + std::floor(12 * uniform(random)),
                       y + std::floor(20 * uniform(random)), 0.2 + 0.8 * uniform(random)});
  }
  for (int dy = -24; dy <= 24; dy += 2)
    for (int dx = -24; dx <= 24; dx += 2)
      sources.push_back({80.0 + dx, 160.0 + dy, 0.01 * std::exp(-0.5 * (dx * dx + dy * dy) / 64)});
  return sources;
}

bool same(const Buffer<float, 4>& a, const Buffer<float, 4>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Far from the wide source, and from the other points.
bool alone(const std::vector<PointSource>& sky, int i) {
  const PointSource& own = sky[std::size_t(i)];
  if (std::hypot(own.x - 80, own.y - 160) < 35) return false;
  for (int j = 0; j < kPoints; ++j)
    if (j != i && std::hypot(own.x - sky[std::size_t(j)].x, own.y - sky[std::size_t(j)].y) < 12) return false;
  return true;
}

}  // namespace

// Iterations are those of all cycles together, to the last one, in parts too.
BOOST_AUTO_TEST_CASE(iterations_are_counted_over_all_cycles) {
  const auto sky = sources();
  const Field made = make_field(
      kSize, sky, {1.5e8}, 1, 2e-5, [&](std::size_t i, std::size_t, std::size_t) { return sky[i].flux; },
      1000);
  for (const CleanAlgorithm algorithm :
       {CleanAlgorithm::hogbom, CleanAlgorithm::clark, CleanAlgorithm::multiscale})
    for (const std::size_t sub_image : {std::size_t{0}, kSubImage}) {
      if (algorithm == CleanAlgorithm::hogbom && sub_image > 0) continue;
      DeconvolutionSettings settings;
      settings.algorithm = algorithm;
      settings.max_iterations = 3001;
      settings.threshold_jy = 1e-6;
      settings.cycle_gain = 0.6;
      settings.scales_pixels = {0, 12};
      settings.sub_image_pixels = sub_image;
      Field field = copy_of(made);
      Deconvolver deconvolver(settings, field.psf, field.groups, {1, kSize, kSize}, 5);
      std::size_t n_cycles = 0, n_components = 0;
      CycleReport report;
      do {
        report = deconvolver.minor_cycle(field.dirty, field.model);
        n_components += report.n_components;
        BOOST_TEST(report.sets[0].n_total == n_components);
        ++n_cycles;
      } while (report.unfinished);
      BOOST_TEST(n_cycles > 2u);
      BOOST_TEST(n_components == settings.max_iterations);
      BOOST_TEST(int(report.sets[0].stop) == int(CleanStop::iterations));
    }
}

// A PSF with a sidelobe above its peak: what is taken grows, in each of two parts, and the set stops for it.
BOOST_AUTO_TEST_CASE(divergence_in_a_part_ends_the_cycle) {
  const std::size_t n = 256;
  Buffer<float, 4> psf({1, 1, 2 * n, 2 * n});
  psf(0, 0, n, n) = 1;
  psf(0, 0, n, n + 1) = psf(0, 0, n, n - 1) = -1.3f;
  for (const std::size_t sub_image : {0u, 64u}) {
    Buffer<float, 4> residual({1, 1, n, n}), model({1, 1, n, n});
    residual(0, 0, 30, 30) = 1;  // alone, this one would not diverge: its neighbours are below the cutoff
    residual(0, 0, 200, 200) = residual(0, 0, 200, 201) = 1;
    DeconvolutionSettings settings;
    settings.sub_image_pixels = sub_image;
    settings.max_iterations = 100000;
    settings.threshold_jy = 0.01;
    settings.cycle_gain = 0.5;
    settings.n_threads = 2;
    Deconvolver deconvolver(settings, psf, {DeconvolutionGroup{}}, {1, n, n});
    const CycleReport report = deconvolver.minor_cycle(residual, model);
    BOOST_TEST(report.diverged);
    BOOST_TEST(!report.unfinished);
    BOOST_TEST(int(report.sets[0].stop) == int(CleanStop::divergence));
    BOOST_TEST(report.n_components < 200u);
  }
}

BOOST_AUTO_TEST_CASE(sub_images_find_the_same_sky) {
  const auto sky = sources();
  const Field made = make_field(
      kSize, sky, {1.5e8}, 1, 2e-5, [&](std::size_t i, std::size_t, std::size_t) { return sky[i].flux; },
      1000);
  for (const CleanAlgorithm algorithm : {CleanAlgorithm::clark, CleanAlgorithm::multiscale}) {
    DeconvolutionSettings settings;
    settings.algorithm = algorithm;
    settings.max_iterations = 100000;
    settings.threshold_jy = 1e-4;
    if (algorithm == CleanAlgorithm::multiscale) settings.scales_pixels = {0, 12, 24};
    Field whole = copy_of(made);
    const CycleReport of_whole = clean(whole, settings);
    settings.sub_image_pixels = kSubImage;
    Field first;
    for (const unsigned n_threads : {1u, 7u}) {
      settings.n_threads = n_threads;
      Field field = copy_of(made);
      const CycleReport report = clean(field, settings);
      if (n_threads > 1) {
        BOOST_TEST(same(field.model, first.model));
        BOOST_TEST(same(field.dirty, first.dirty));
        continue;
      }
      double worst = 0, worst_whole = 0;
      for (int i = 0; i < kPoints; ++i) {
        const PointSource& source = sky[std::size_t(i)];
        if (!alone(sky, i)) continue;
        auto error = [&](const Field& of) {
          return std::abs(flux_around(of.model.view()[0][0], source.x, source.y, 4) / source.flux - 1);
        };
        worst = std::max(worst, error(field));
        worst_whole = std::max(worst_whole, error(whole));
      }
      const double wide = flux_around(field.model.view()[0][0], 80, 160, 30),
                   wide_whole = flux_around(whole.model.view()[0][0], 80, 160, 30);
      const double residual = rms(field.dirty.view()[0][0]), residual_whole = rms(whole.dirty.view()[0][0]);
      BOOST_TEST_MESSAGE("algorithm " << int(algorithm) << ", " << report.sets[0].n_total << " and "
                                      << of_whole.sets[0].n_total << " components: worst flux " << worst
                                      << " and " << worst_whole << ", wide source " << wide << " and "
                                      << wide_whole << ", residual " << residual << " and "
                                      << residual_whole);
      BOOST_TEST(worst < 0.001);  // the threshold is 0.05 % of the weakest source; measured 4.5e-4
      BOOST_TEST(std::abs(wide / wide_whole - 1) < 0.001);  // 5e-5
      BOOST_TEST(residual < 1.05 * residual_whole);         // 0.998
      BOOST_TEST(!same(field.model, whole.model));          // they were cleaned apart
      first = std::move(field);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
