// SPDX-License-Identifier: GPL-3.0-or-later
// Gains onto visibilities against matrices of 2 x 2 in float64: which antenna is conjugated, weights, flags.
#include "kernels/calibrate/apply_gains.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <vector>

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(apply_gains)

namespace {

using Complex = std::complex<double>;
struct Matrix {
  Complex v[2][2];
};
Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix c{};
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      for (int k = 0; k < 2; ++k) c.v[i][j] += a.v[i][k] * b.v[k][j];
  return c;
}
Matrix adjoint(const Matrix& a) {
  return {{{std::conj(a.v[0][0]), std::conj(a.v[1][0])}, {std::conj(a.v[0][1]), std::conj(a.v[1][1])}}};
}

const std::vector<ProductHands> kAll{{0, 0}, {0, 1}, {1, 0}, {1, 1}};
constexpr std::size_t kAntennas = 3, kChannels = 5;

/// [antenna][chan][value]
Buffer<Complex, 3> random_gains(std::size_t n_values) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal(0, 0.3);
  Buffer<Complex, 3> gains({kAntennas, kChannels, n_values});
  for (std::size_t i = 0; i < gains.size(); ++i) {
    const bool diagonal = n_values == 2 || i % 4 == 0 || i % 4 == 3;
    gains.data()[i] = Complex(diagonal ? 1.2 : 0, 0.4) + Complex(normal(random), normal(random));
  }
  return gains;
}

Matrix matrix_of(const Buffer<Complex, 3>& gains, std::size_t ant, std::size_t chan) {
  if (gains.extent(2) == 2) return {{{gains(ant, chan, 0), 0}, {0, gains(ant, chan, 1)}}};
  return {{{gains(ant, chan, 0), gains(ant, chan, 1)}, {gains(ant, chan, 2), gains(ant, chan, 3)}}};
}

struct Row {
  Buffer<std::complex<float>, 2> data{{kChannels, 4}};
  Buffer<float, 2> weight{{kChannels, 4}};
  Buffer<std::uint8_t, 2> flag{{kChannels, 4}};
};
Row random_row() {
  std::mt19937 random(8);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> uniform(0.5f, 2.0f);
  Row row;
  for (auto& value : row.data) value = {normal(random), normal(random)};
  for (float& weight : row.weight) weight = uniform(random);
  return row;
}

}  // namespace

BOOST_AUTO_TEST_CASE(corrected_data_times_the_gains_are_the_data) {
  for (const std::size_t n_values : {2u, 4u}) {
    const Buffer<Complex, 3> gains = random_gains(n_values);
    const Buffer<std::uint8_t, 2> none({kAntennas, kChannels});
    const AppliedGains applied(gains, none, false), corrupting(gains, none, true);
    const Row before = random_row();
    Row row = random_row();
    applied.apply(2, 0, kAll, row.data, row.weight, row.flag);  // ANTENNA1 > ANTENNA2
    double worst = 0;
    for (std::size_t chan = 0; chan < kChannels; ++chan) {
      Matrix v{};
      for (std::size_t p = 0; p < 4; ++p) v.v[p / 2][p % 2] = row.data(chan, p);
      const Matrix back = matrix_of(gains, 2, chan) * v * adjoint(matrix_of(gains, 0, chan));
      for (std::size_t p = 0; p < 4; ++p)
        worst = std::max(worst, std::abs(back.v[p / 2][p % 2] - Complex(before.data(chan, p))));
    }
    BOOST_TEST(worst < 3e-6);
    const Buffer<float, 2> weight_before([&] {
      Buffer<float, 2> copy(row.weight.shape());
      std::copy(row.weight.begin(), row.weight.end(), copy.begin());
      return copy;
    }());
    corrupting.apply(2, 0, kAll, row.data, row.weight, row.flag);
    for (std::size_t i = 0; i < row.data.size(); ++i)
      BOOST_TEST(std::abs(row.data.data()[i] - before.data.data()[i]) < 3e-6f);
    BOOST_TEST(std::equal(weight_before.begin(), weight_before.end(), row.weight.begin()));
  }
}

/// The variance of the corrected product, each sample being independent noise of variance 1 / w.
BOOST_AUTO_TEST_CASE(weights_are_inverse_variances) {
  for (const std::size_t n_values : {2u, 4u}) {
    const Buffer<Complex, 3> gains = random_gains(n_values);
    const Buffer<std::uint8_t, 2> none({kAntennas, kChannels});
    const AppliedGains applied(gains, none, false);
    const Row before = random_row();
    Row row = random_row();
    applied.apply(0, 1, kAll, row.data, row.weight, row.flag);
    for (std::size_t chan = 0; chan < kChannels; ++chan) {
      double variance[4] = {};
      for (std::size_t p = 0; p < 4; ++p) {
        // One sample alone: what it does to each product.
        Row unit;
        unit.data(chan, p) = 1;
        Buffer<float, 2> no_weight;
        applied.apply(0, 1, kAll, unit.data, no_weight, unit.flag);
        for (std::size_t to = 0; to < 4; ++to)
          variance[to] +=
              std::norm(Complex(unit.data(chan, to))) / static_cast<double>(before.weight(chan, p));
      }
      for (std::size_t p = 0; p < 4; ++p)
        BOOST_TEST(std::abs(static_cast<double>(row.weight(chan, p)) * variance[p] - 1) < 2e-6);
    }
  }
}

BOOST_AUTO_TEST_CASE(flagged_gains_flag_their_data_and_leave_them) {
  const Buffer<Complex, 3> gains = random_gains(2);
  Buffer<std::uint8_t, 2> flagged({kAntennas, kChannels});
  flagged(1, 3) = 1;
  const Row before = random_row();
  for (const bool corrupt : {false, true}) {
    Row row = random_row();
    AppliedGains(gains, flagged, corrupt).apply(0, 1, kAll, row.data, row.weight, row.flag);
    for (std::size_t chan = 0; chan < kChannels; ++chan)
      for (std::size_t p = 0; p < 4; ++p) {
        BOOST_TEST(row.flag(chan, p) == (chan == 3 && !corrupt ? 1 : 0));
        BOOST_TEST((row.data(chan, p) == before.data(chan, p)) == (chan == 3));
      }
    BOOST_TEST(row.weight(3, 0) == before.weight(3, 0));
  }
}

BOOST_AUTO_TEST_CASE(matrices_spread_flags_over_what_they_mix) {
  const Buffer<std::uint8_t, 2> none({kAntennas, kChannels});
  Row row = random_row();
  row.flag(2, 1) = 1;
  const Buffer<Complex, 3> matrices = random_gains(4);
  AppliedGains(matrices, none, false).apply(0, 1, kAll, row.data, row.weight, row.flag);
  for (std::size_t p = 0; p < 4; ++p) BOOST_TEST(row.flag(2, p) == 1);
  BOOST_TEST(row.flag(1, 1) == 0);
  Row other = random_row();
  other.flag(2, 1) = 1;
  const Buffer<Complex, 3> diagonal = random_gains(2);
  AppliedGains(diagonal, none, false).apply(0, 1, kAll, other.data, other.weight, other.flag);
  BOOST_TEST((other.flag(2, 0) == 0 && other.flag(2, 1) == 1 && other.flag(2, 3) == 0));
}

BOOST_AUTO_TEST_CASE(parallel_hands_alone_and_single_products_take_their_own_gains) {
  const Buffer<Complex, 3> gains = random_gains(2);
  const Buffer<std::uint8_t, 2> none({kAntennas, kChannels});
  const AppliedGains applied(gains, none, false);
  const std::vector<ProductHands> yy{{1, 1}};
  Buffer<std::complex<float>, 2> data({kChannels, 1});
  data.fill(1);
  Buffer<float, 2> weight({kChannels, 1});
  weight.fill(1);
  Buffer<std::uint8_t, 2> flag({kChannels, 1});
  applied.apply(0, 2, yy, data, weight, flag);
  for (std::size_t chan = 0; chan < kChannels; ++chan) {
    const Complex expected = 1.0 / (gains(0, chan, 1) * std::conj(gains(2, chan, 1)));
    BOOST_TEST(std::abs(Complex(data(chan, 0)) - expected) < 2e-6);
    BOOST_TEST(std::abs(static_cast<double>(weight(chan, 0)) * std::norm(expected) - 1) < 2e-6);
  }
}

BOOST_AUTO_TEST_SUITE_END()
