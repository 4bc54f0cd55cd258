// SPDX-License-Identifier: GPL-3.0-or-later
// The automatic mask of a run that goes on from an earlier model.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/support/clean_field.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(masks)

// Of an image of 40 x 30 pixels the border of 10 % is 4 columns and 3 rows wide: the pixels beside it are
// cleaned, those of its last row and column are not.
BOOST_AUTO_TEST_CASE(components_are_found_up_to_the_last_row_of_the_border) {
  const std::size_t ny = 30, nx = 40;
  Buffer<float, 4> psf({1, 1, 2 * ny, 2 * nx});
  psf(0, 0, ny, nx) = 1;
  for (const CleanAlgorithm algorithm :
       {CleanAlgorithm::hogbom, CleanAlgorithm::clark, CleanAlgorithm::multiscale}) {
    Buffer<float, 4> residual({1, 1, ny, nx}), model({1, 1, ny, nx});
    residual.fill(1);
    DeconvolutionSettings settings;
    settings.algorithm = algorithm;
    settings.scales_pixels = {0};
    settings.max_iterations = 100000;
    settings.threshold_jy = 0.5;
    settings.border_percent = 10;
    Deconvolver deconvolver(settings, psf, {DeconvolutionGroup{}}, {1, ny, nx}, 3);
    deconvolver.minor_cycle(residual, model);
    std::size_t n_wrong = 0;
    for (std::size_t y = 0; y < ny; ++y)
      for (std::size_t x = 0; x < nx; ++x)
        n_wrong += (model(0, 0, y, x) != 0) != (y >= 3 && y < 27 && x >= 4 && x < 36);
    BOOST_TEST(n_wrong == 0u);
  }
}

// A Gaussian of about 4 beams and two points; the fainter one is below the mask's level, which the noise is
// far below. The first run ends at that level. The second finds the first one's model only, and cleans within
// it and nowhere else.
BOOST_AUTO_TEST_CASE(going_on_keeps_to_the_model_of_the_run_before) {
  const std::size_t n = 160;
  std::vector<PointSource> sources{{130, 40, 1}, {30, 140, 0.01}};
  for (int dy = -24; dy <= 24; dy += 2)
    for (int dx = -24; dx <= 24; dx += 2)
      sources.push_back({70.0 + dx, 80.0 + dy, 0.02 * std::exp(-0.5 * (dx * dx + dy * dy) / 100)});
  for (const CleanAlgorithm algorithm :
       {CleanAlgorithm::hogbom, CleanAlgorithm::clark, CleanAlgorithm::multiscale}) {
    Field field = make_field(n, sources, {1.5e8}, 1, 2e-4,
                             [&](std::size_t i, std::size_t, std::size_t) { return sources[i].flux; });
    DeconvolutionSettings settings;
    settings.algorithm = algorithm;
    settings.max_iterations = 20000;
    settings.threshold_jy = 0.015;
    settings.cycle_gain = 0.8;
    settings.n_threads = 2;
    settings.scales_pixels = {0, 12, 24};
    clean(field, settings);
    Buffer<float, 4> before(field.model.shape());
    std::copy(field.model.begin(), field.model.end(), before.begin());
    const double left = rms(field.dirty.view()[0][0]);

    settings.threshold_jy = 0;
    settings.auto_mask_sigma = 0.015 / 2e-4;
    settings.auto_threshold_sigma = 2;
    const CycleReport report = clean(field, settings);
    std::size_t n_used = 0, n_new = 0, n_outside = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const bool used = before.data()[i] != 0, changed = field.model.data()[i] != before.data()[i];
      n_used += used;
      n_new += changed;
      n_outside += changed && !used;
    }
    BOOST_TEST_MESSAGE("algorithm " << int(algorithm) << ": " << report.sets[0].n_total
                                    << " more components in " << n_new << " pixels of " << n_used << ", "
                                    << n_outside << " outside; residual " << left << " -> "
                                    << rms(field.dirty.view()[0][0]));
    BOOST_TEST(report.sets[0].masked);
    BOOST_TEST(n_new > 0u);
    BOOST_TEST(n_outside == 0u);
    BOOST_TEST(rms(field.dirty.view()[0][0]) < left);
  }
}

BOOST_AUTO_TEST_SUITE_END()
