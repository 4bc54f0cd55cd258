// SPDX-License-Identifier: GPL-3.0-or-later
// Means over channels and rows, and turned phases, against loops in float64 written from the equations.
#include "kernels/average/average.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <random>

using namespace apsyn::average;
using Complex = std::complex<float>;

BOOST_AUTO_TEST_SUITE(means)

namespace {

struct Row {
  RowShape shape;
  std::vector<Complex> data;
  std::vector<float> weight;
};

/// Weights over six decades, a third of them 0.
Row random_row(std::size_t n_chan, std::size_t n_product, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(1, 1);
  std::uniform_real_distribution<float> uniform(0, 1);
  Row row{{n_chan, n_product}, {}, {}};
  for (std::size_t i = 0; i < n_chan * n_product; ++i) {
    row.data.push_back({normal(random), normal(random)});
    row.weight.push_back(uniform(random) < 0.33f ? 0.0f : std::pow(10.0f, 6 * uniform(random) - 3));
  }
  return row;
}

/// Two roundings: of the mean and, with its own relative error, of the weight.
constexpr double kRounding = std::numeric_limits<float>::epsilon();

void check_close(Complex found, std::complex<double> expected, double scale) {
  BOOST_TEST(std::abs(std::complex<double>(found) - expected) <= kRounding * scale);
}

}  // namespace

BOOST_AUTO_TEST_CASE(channels_become_the_weighted_means_of_their_groups) {
  for (const std::size_t n_product : {1, 2, 3, 4})
    for (const std::size_t n_average : {1, 2, 3, 8, 100}) {
      const Row row = random_row(13, n_product, static_cast<unsigned>(n_product));
      const std::size_t n_out = averaged_channels(13, n_average);
      BOOST_TEST(n_out == (13 + n_average - 1) / n_average);
      std::vector<Complex> data(n_out * n_product, {NAN, NAN});
      std::vector<float> weight(n_out * n_product, NAN);
      average_channels(row.data.data(), row.weight.data(), row.shape, n_average, data.data(), weight.data());
      for (std::size_t group = 0; group < n_out; ++group)
        for (std::size_t p = 0; p < n_product; ++p) {
          std::complex<double> sum = 0;
          double total = 0, scale = 0;
          for (std::size_t chan = group * n_average;
               chan < std::min<std::size_t>(13, (group + 1) * n_average); ++chan) {
            const std::size_t i = chan * n_product + p;
            sum += static_cast<double>(row.weight[i]) * std::complex<double>(row.data[i]);
            total += static_cast<double>(row.weight[i]);
            scale = std::max(scale, std::abs(std::complex<double>(row.data[i])));
          }
          const std::size_t at = group * n_product + p;
          check_close(data[at], total > 0 ? sum / total : 0, scale);
          BOOST_TEST(std::abs(static_cast<double>(weight[at]) - total) <= kRounding * total);
        }
    }
}

BOOST_AUTO_TEST_CASE(rows_become_their_weighted_mean) {
  const std::size_t n_rows = 1000, n_cells = 12;
  CellSums sums;
  sums.reset(n_cells);
  std::vector<std::complex<double>> expected(n_cells);
  std::vector<double> total(n_cells), scale(n_cells);
  for (unsigned r = 0; r < n_rows; ++r) {
    Row row = random_row(3, 4, r);
    for (std::size_t i = 0; i < n_cells; i += 5) row.weight[i] = 0;  // cells without any data
    const double of_row = add_row(row.data.data(), row.weight.data(), n_cells, sums);
    double all = 0;
    for (std::size_t i = 0; i < n_cells; ++i) {
      const double w = static_cast<double>(row.weight[i]);
      expected[i] += w * std::complex<double>(row.data[i]);
      total[i] += w;
      all += w;
      scale[i] = std::max(scale[i], std::abs(std::complex<double>(row.data[i])));
    }
    BOOST_TEST(std::abs(of_row - all) <= 1e-12 * all);
  }
  std::vector<Complex> data(n_cells, {NAN, NAN});
  std::vector<float> weight(n_cells, NAN);
  finish_row(sums, data.data(), weight.data());
  for (std::size_t i = 0; i < n_cells; ++i) {
    if (i % 5 == 0) {
      BOOST_TEST(weight[i] == 0);
      BOOST_TEST(data[i] == Complex(0));
      continue;
    }
    check_close(data[i], expected[i] / total[i], scale[i]);
    BOOST_TEST(std::abs(static_cast<double>(weight[i]) - total[i]) <= kRounding * total[i]);
  }
}

BOOST_AUTO_TEST_CASE(rows_at_once_become_what_they_become_one_by_one) {
  for (const std::size_t n_cells : {1, 3, 4, 12, 17, 64})
    for (const std::size_t n_rows : {1, 2, 5, 40}) {
      std::vector<Row> all;
      CellSums sums;
      sums.reset(n_cells);
      RowCells rows;
      std::vector<double> expected_weight;
      for (unsigned r = 0; r < n_rows; ++r) all.push_back(random_row(n_cells, 1, 100 * r + 7));
      for (Row& row : all) {
        for (std::size_t i = 0; i < n_cells; i += 5) row.weight[i] = 0;
        row.data[n_cells / 2] = {-0.0f, 0.0f};
        expected_weight.push_back(add_row(row.data.data(), row.weight.data(), n_cells, sums));
        rows.data.push_back(row.data.data());
        rows.weight.push_back(row.weight.data());
      }
      std::vector<Complex> expected(n_cells), data(n_cells, {NAN, NAN});
      std::vector<float> expected_total(n_cells), weight(n_cells, NAN);
      std::vector<double> row_weight(n_rows, NAN);
      finish_row(sums, expected.data(), expected_total.data());
      average_rows(rows, n_cells, data.data(), weight.data(), row_weight.data());
      BOOST_TEST(std::memcmp(data.data(), expected.data(), n_cells * sizeof(Complex)) == 0);
      BOOST_TEST(weight == expected_total);
      BOOST_TEST(row_weight == expected_weight);
    }
}

BOOST_AUTO_TEST_CASE(phases_turn_by_the_path_in_wavelengths) {
  const Row row = random_row(5, 4, 3);
  const std::vector<double> channel_hz{150e6, 150.04e6, 151e6, 1.4e9, 20e6};
  for (const double path_m : {0.3, -12345.678, 3e6}) {
    std::vector<Complex> data(row.data.size(), {NAN, NAN});
    turn_row(row.data.data(), row.shape, channel_hz.data(), path_m, data.data());
    for (std::size_t chan = 0; chan < 5; ++chan)
      for (std::size_t p = 0; p < 4; ++p) {
        const long double turns = static_cast<long double>(channel_hz[chan]) * path_m / 299792458.0L;
        const double phase =
            static_cast<double>(-2 * std::numbers::pi_v<long double> * (turns - std::rint(turns)));
        const std::complex<double> value(row.data[chan * 4 + p]);
        // Of 1.4e7 turns float64 keeps 2e-9.
        BOOST_TEST(std::abs(std::complex<double>(data[chan * 4 + p]) - value * std::polar(1.0, phase)) <=
                   (kRounding + 2e-8) * std::abs(value));
      }
  }
}

BOOST_AUTO_TEST_SUITE_END()
