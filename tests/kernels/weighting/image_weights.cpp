// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/weighting/image_weights.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "libcore/base/constants.h"
#include "tests/reference/briggs_weights.h"

using namespace apsyn;
using reference::WeighedVisibility;
using reference::WeightRecipe;

BOOST_AUTO_TEST_SUITE(image_weights)

namespace {

constexpr std::size_t n_x = 101, n_y = 75;
constexpr double cell_rad = 1e-3;

/// Dense near the centre, some on cell edges, some outside of the grid, both signs of v.
std::vector<WeighedVisibility> visibilities() {
  std::mt19937_64 random(1);
  std::normal_distribution<double> gauss(0, 120);
  std::uniform_real_distribution<double> flat(0.1, 2);
  std::vector<WeighedVisibility> all;
  for (int i = 0; i < 4000; ++i) all.push_back({gauss(random), gauss(random), flat(random)});
  for (int i = 0; i < 50; ++i) all.push_back({static_cast<double>(i) * 20, -0.0, 1});
  all.push_back({5000, 0, 1});
  all.push_back({0, -5000, 1});
  return all;
}

void compare(const WeightSettings& settings, const WeightRecipe& recipe, std::size_t n_rows = n_y) {
  const auto all = visibilities();
  ImageWeights weights(settings, n_x, n_rows, cell_rad);
  for (const auto& vis : all) weights.add(vis.u, vis.v, vis.weight);
  weights.finish(2);
  const auto want = reference::imaging_weights(all, recipe, n_x, n_rows, cell_rad);
  std::size_t n_zero = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double got = weights.at(all[i].u, all[i].v);
    BOOST_CHECK_LE(std::abs(got - want[i]), 1e-13 * std::abs(want[i]));
    n_zero += want[i] == 0;
  }
  BOOST_CHECK_GE(n_zero, 2u);
  BOOST_CHECK_LT(n_zero, all.size());
}

}  // namespace

BOOST_AUTO_TEST_CASE(natural_weights_agree_with_the_reference) {
  compare({.mode = WeightMode::natural}, {.mode = 'n', .rank_level = 3});
}

BOOST_AUTO_TEST_CASE(tukey_tapers_agree_with_the_reference) {
  compare({.mode = WeightMode::uniform,
           .min_uv_lambda = 20,
           .max_uv_lambda = 200,
           .inner_tukey_lambda = 30,
           .outer_tukey_lambda = 50},
          {.mode = 'u', .rank_level = 3, .min_uv = 20, .max_uv = 200, .inner_tukey = 30, .outer_tukey = 50});
}

BOOST_AUTO_TEST_CASE(uniform_weights_agree_with_and_without_rank_filter) {
  compare({.mode = WeightMode::uniform, .rank_filter_level = 0}, {.mode = 'u'});
  compare({.mode = WeightMode::uniform}, {.mode = 'u', .rank_level = 3});
  compare({.mode = WeightMode::uniform, .rank_filter_level = 1.2}, {.mode = 'u', .rank_level = 1.2});
  // Filtered in bands of 128 rows: here 132 and 414 of them.
  for (const std::size_t n_rows : {220, 690})
    compare({.mode = WeightMode::uniform, .rank_filter_level = 1.2}, {.mode = 'u', .rank_level = 1.2},
            n_rows);
}

BOOST_AUTO_TEST_CASE(briggs_weights_agree_with_the_reference) {
  for (double robustness : {-2.0, -0.5, 0.0, 1.5})
    compare({.mode = WeightMode::briggs, .robustness = robustness},
            {.mode = 'b', .robustness = robustness, .rank_level = 3});
}

BOOST_AUTO_TEST_CASE(gaussian_tapers_and_uv_limits_agree_with_the_reference) {
  compare({.mode = WeightMode::uniform, .taper_gaussian_rad = 2e-3},
          {.mode = 'u', .rank_level = 3, .taper_fwhm_rad = 2e-3});
  compare({.mode = WeightMode::briggs, .min_uv_lambda = 40, .max_uv_lambda = 200},
          {.mode = 'b', .rank_level = 3, .min_uv = 40, .max_uv = 200});
}

BOOST_AUTO_TEST_CASE(each_channel_is_weighted_at_its_own_wavelengths) {
  // One row, two channels: metres become wavelengths; plane 0 alone is counted, all planes are weighted.
  ImagingBlock block;
  block.uvw_m.resize({1, 3});
  block.uvw_m(0, 0) = 30;
  block.uvw_m(0, 1) = -12;
  block.channel_hz.resize({2});
  block.channel_hz(0) = kSpeedOfLight_m_s;
  block.channel_hz(1) = 2 * kSpeedOfLight_m_s;
  block.data.resize({1, 2, 2});
  block.weight.resize({1, 2, 2});
  block.weight(0, 0, 0) = 4;
  block.weight(0, 0, 1) = 3;
  block.weight(0, 1, 0) = 5;
  ImageWeights weights({.mode = WeightMode::uniform, .rank_filter_level = 0}, n_x, n_y, cell_rad);
  weights.add(block);
  weights.finish(1);
  BOOST_CHECK_EQUAL(weights.at(30, -12), 0.25);
  BOOST_CHECK_EQUAL(weights.at(-60, 24), 0.2);
  Buffer<float, 3> weighted;
  weights.apply(block, 2, weighted);
  BOOST_CHECK_EQUAL(weighted(0, 0, 0), 1);
  BOOST_CHECK_EQUAL(weighted(0, 0, 1), 0.75);
  BOOST_CHECK_EQUAL(weighted(0, 1, 0), 1);
  BOOST_CHECK_EQUAL(weighted(0, 1, 1), 0);
}

BOOST_AUTO_TEST_CASE(planes_have_natural_weights_where_plane_0_has_none) {
  ImagingBlock block;
  block.uvw_m.resize({1, 3});
  block.uvw_m(0, 0) = 30;
  block.channel_hz.resize({1});
  block.channel_hz(0) = kSpeedOfLight_m_s;
  block.data.resize({1, 1, 2});
  block.weight.resize({1, 1, 2});
  block.weight(0, 0, 1) = 3;
  ImageWeights weights({.mode = WeightMode::natural}, n_x, n_y, cell_rad);
  weights.add(block);
  weights.finish(1);
  Buffer<float, 3> weighted;
  weights.apply(block, 1, weighted);
  BOOST_CHECK_EQUAL(weighted(0, 0, 0), 0);
  BOOST_CHECK_EQUAL(weighted(0, 0, 1), 3);
}

// Weights of very different sizes, so that the order of the additions shows in the sums.
BOOST_AUTO_TEST_CASE(threads_change_no_bit_of_the_sums) {
  constexpr std::size_t n_rows = 20000, n_chan = 5;
  std::mt19937_64 random(3);
  std::normal_distribution<double> gauss(0, 100), exponent(0, 8);
  ImagingBlock block;
  block.uvw_m.resize({n_rows, 3});
  block.channel_hz.resize({n_chan});
  for (std::size_t c = 0; c < n_chan; ++c)
    block.channel_hz(c) = (1 + 0.1 * static_cast<double>(c)) * kSpeedOfLight_m_s;
  block.data.resize({n_rows, n_chan, 1});
  block.weight.resize({n_rows, n_chan, 1});
  for (double& metres : block.uvw_m) metres = gauss(random);
  for (float& weight : block.weight) weight = static_cast<float>(std::exp2(exponent(random)));
  for (std::size_t row = 0; row < n_rows; row += 9) block.weight(row, 1, 0) = 0;
  for (const WeightMode mode : {WeightMode::natural, WeightMode::uniform, WeightMode::briggs}) {
    const WeightSettings settings{.mode = mode, .rank_filter_level = 0, .max_uv_lambda = 300};
    ImageWeights one(settings, n_x, n_y, cell_rad);
    one.add(block);
    one.add(block);
    for (const unsigned n_threads : {2u, 4u, 7u}) {
      ImageWeights many(settings, n_x, n_y, cell_rad);
      many.add(block, n_threads);
      many.add(block, n_threads);
      BOOST_TEST(std::equal(one.grid().begin(), one.grid().end(), many.grid().begin(), many.grid().end()));
      BOOST_TEST(many.beyond().n_visibilities == one.beyond().n_visibilities);
      BOOST_TEST(many.beyond().n_beyond == one.beyond().n_beyond);
      BOOST_TEST(many.beyond().max_lambda == one.beyond().max_lambda);
      ImageWeights again(settings, n_x, n_y, cell_rad);
      again.add(block);
      again.add(block);
      again.finish(1);
      many.finish(n_threads);
      BOOST_TEST(
          std::equal(again.grid().begin(), again.grid().end(), many.grid().begin(), many.grid().end()));
    }
  }
}

BOOST_AUTO_TEST_CASE(natural_weights_of_rows_are_those_of_their_visibilities) {
  // The grid ends at 500 wavelengths, within the channels of some rows.
  constexpr std::size_t n_rows = 3000, n_chan = 3;
  std::mt19937_64 random(2);
  std::normal_distribution<double> gauss(0, 250);
  ImagingBlock block;
  block.uvw_m.resize({n_rows, 3});
  block.channel_hz.resize({n_chan});
  for (std::size_t c = 0; c < n_chan; ++c)
    block.channel_hz(c) = std::vector{1.2, 1.0, 1.5}[c] * kSpeedOfLight_m_s;
  block.data.resize({n_rows, n_chan, 2});
  block.weight.resize({n_rows, n_chan, 2});
  for (double& metres : block.uvw_m) metres = gauss(random);
  block.uvw_m(7, 0) = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t i = 0; i < block.weight.size(); ++i) block.weight.data()[i] = static_cast<float>(i % 7);
  for (const double level : {0.0, 0.5, 3.0})
    for (const double max_uv : {std::numeric_limits<double>::infinity(), 400.0}) {
      const WeightSettings settings{.rank_filter_level = level, .max_uv_lambda = max_uv};
      ImageWeights of_block(settings, n_x, n_y, cell_rad), of_each(settings, n_x, n_y, cell_rad);
      of_block.add(block);
      const auto lambda = [&](std::size_t row, std::size_t axis, std::size_t c) {
        return block.uvw_m(row, axis) / (kSpeedOfLight_m_s / block.channel_hz(c));
      };
      for (std::size_t row = 0; row < n_rows; ++row)
        for (std::size_t c = 0; c < n_chan; ++c)
          if (block.weight(row, c, 0) != 0)
            of_each.add(lambda(row, 0, c), lambda(row, 1, c), block.weight(row, c, 0));
      BOOST_CHECK_EQUAL(of_block.beyond().n_visibilities, of_each.beyond().n_visibilities);
      BOOST_CHECK_EQUAL(of_block.beyond().n_beyond, of_each.beyond().n_beyond);
      BOOST_CHECK_EQUAL(of_block.beyond().max_lambda, of_each.beyond().max_lambda);
      of_block.finish(1);
      Buffer<float, 3> weighted;
      of_block.apply(block, 2, weighted);
      std::size_t n_wrong = 0, n_without = 0;
      for (std::size_t row = 0; row < n_rows; ++row)
        for (std::size_t c = 0; c < n_chan; ++c)
          for (std::size_t p = 0; p < 2; ++p) {
            const auto factor = static_cast<float>(of_block.at(lambda(row, 0, c), lambda(row, 1, c)));
            n_wrong += weighted(row, c, p) != block.weight(row, c, p) * factor;
            n_without += factor == 0;
          }
      BOOST_CHECK_EQUAL(n_wrong, 0u);
      BOOST_CHECK(n_without > 100 && n_without < n_rows * n_chan);
    }
}

BOOST_AUTO_TEST_CASE(visibilities_beyond_the_grid_are_counted) {
  // The grid ends at 500 wavelengths.
  for (const double max_uv : {1e9, 600.0}) {
    ImageWeights weights({.max_uv_lambda = max_uv}, n_x, n_y, cell_rad);
    for (const double u : {10.0, 499.0, -550.0, 5000.0}) weights.add(u, 3, 1);
    weights.add(1, -7000, 1);
    BOOST_CHECK_EQUAL(weights.beyond().n_visibilities, max_uv == 600 ? 3 : 5);
    BOOST_CHECK_EQUAL(weights.beyond().n_beyond, max_uv == 600 ? 1 : 3);
    BOOST_CHECK_EQUAL(weights.beyond().max_lambda, max_uv == 600 ? 550 : 7000);
    const BeyondGrid before = weights.beyond();
    weights.add(std::nan(""), 3, 1);
    weights.add(std::numeric_limits<double>::infinity(), std::nan(""), 1);
    BOOST_CHECK_EQUAL(weights.beyond().n_beyond, before.n_beyond + 2);
    BOOST_CHECK_EQUAL(weights.beyond().max_lambda, before.max_lambda);
  }
}

BOOST_AUTO_TEST_SUITE_END()
