// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/math/fft.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <stdexcept>

#include "kernels/common/math/matrix_product.h"
#include "libcore/base/view.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(fft)

namespace {

template <class T>
double worst_error(std::size_t n_v, std::size_t n_u, FftSign sign) {
  // Two arrays in a batch, against the sums of the definition.
  std::mt19937_64 random(1);
  std::normal_distribution<double> gauss;
  Buffer<std::complex<T>, 3> data({2, n_v, n_u});
  for (auto& value : data) value = std::complex<T>(T(gauss(random)), T(gauss(random)));
  std::vector<std::complex<double>> want;
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t kv = 0; kv < n_v; ++kv)
      for (std::size_t ku = 0; ku < n_u; ++ku) {
        std::complex<double> sum = 0;
        for (std::size_t v = 0; v < n_v; ++v)
          for (std::size_t u = 0; u < n_u; ++u)
            sum += std::complex<double>(data(b, v, u)) *
                   std::polar(1.0, static_cast<int>(sign) * 2 * std::acos(-1.0) *
                                       (double((kv * v) % n_v) / double(n_v) +
                                        double((ku * u) % n_u) / double(n_u)));
        want.push_back(sum);
      }
  if (n_v == 1)
    ComplexFft<T>(n_u, 2, sign).execute(data.data());
  else
    ComplexFft<T>({n_v, n_u}, 2, sign).execute(data.data());
  double worst = 0;
  for (std::size_t i = 0; i < want.size(); ++i)
    worst = std::max(worst, std::abs(std::complex<double>(data.data()[i]) - want[i]));
  return worst / std::sqrt(double(n_v * n_u));
}

}  // namespace

BOOST_AUTO_TEST_CASE(complex_transforms_agree_with_direct_sums) {
  for (FftSign sign : {FftSign::minus, FftSign::plus}) {
    BOOST_CHECK_LE(worst_error<float>(1, 30, sign), 2e-6);
    BOOST_CHECK_LE(worst_error<float>(12, 10, sign), 2e-6);
    BOOST_CHECK_LE(worst_error<double>(1, 31, sign), 1e-14);
    BOOST_CHECK_LE(worst_error<double>(9, 16, sign), 1e-14);
  }
}

BOOST_AUTO_TEST_CASE(real_transforms_agree_with_direct_sums) {
  constexpr std::size_t n = 24;
  Buffer<double, 2> in({3, n});
  Buffer<std::complex<double>, 2> out({3, n / 2 + 1});
  std::mt19937_64 random(2);
  std::normal_distribution<double> gauss;
  for (double& value : in) value = gauss(random);
  RealFft<double>(n, 3).execute(in.data(), out.data());
  for (std::size_t b = 0; b < 3; ++b)
    for (std::size_t k = 0; k <= n / 2; ++k) {
      std::complex<double> sum = 0;
      for (std::size_t j = 0; j < n; ++j)
        sum += in(b, j) * std::polar(1.0, -2 * std::acos(-1.0) * double((j * k) % n) / double(n));
      BOOST_CHECK_SMALL(std::abs(out(b, k) - sum), 1e-13);
    }
}

BOOST_AUTO_TEST_CASE(unaligned_data_and_empty_transforms_are_refused) {
  Buffer<std::complex<float>, 1> data({32});
  BOOST_CHECK_THROW(ComplexFft<float>(16, 1, FftSign::plus).execute(data.data() + 1), std::invalid_argument);
  BOOST_CHECK_THROW(ComplexFft<float>(0, 1, FftSign::plus), std::length_error);
}

BOOST_AUTO_TEST_CASE(fast_lengths_are_the_next_products_of_small_primes) {
  BOOST_CHECK_EQUAL(fast_fft_length(0), 2u);
  BOOST_CHECK_EQUAL(fast_fft_length(97), 98u);
  BOOST_CHECK_EQUAL(fast_fft_length(1021), 1024u);
  BOOST_CHECK_EQUAL(fast_fft_length(3072), 3072u);
}

namespace {

template <class T>
void check_matrix_product(std::size_t group, std::size_t n_cols, std::size_t piece) {
  // Whole numbers: the sums are exact in any order.
  constexpr std::size_t n_k = 37, n_rows = 24, gap = 5;
  Buffer<T, 3> a({n_rows / group, n_k, group + gap});
  Buffer<T, 2> b({n_k, n_cols}), c({n_rows, n_cols});
  std::mt19937 random(3);
  for (T& value : a) value = T(random() % 19) - 9;
  for (T& value : b) value = T(random() % 19) - 9;
  c.fill(NAN);
  MatrixProduct<T> product{.n_rows = n_rows, .n_cols = n_cols, .n_k = n_k, .a = a.data(), .group = group};
  product.group_stride = n_k * (group + gap);
  product.k_stride = group + gap;
  product.piece = piece;
  product.b = b.data();
  product.c = c.data();
  product.b_stride = product.c_stride = n_cols;
  matrix_product(product);
  for (std::size_t row = 0; row < n_rows; ++row)
    for (std::size_t col = 0; col < n_cols; ++col) {
      T sum = 0;
      for (std::size_t k = 0; k < n_k; ++k) sum += a(row / group, k, row % group) * b(k, col);
      BOOST_CHECK_EQUAL(c(row, col), sum);
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(matrix_products_of_whole_numbers_are_exact) {
  for (std::size_t group : {1, 2, 4, 8, 24})
    for (std::size_t n_cols : {16, 32, 48, 64, 80, 112})
      for (std::size_t piece : {0, 8, 37}) {
        check_matrix_product<float>(group, n_cols, piece);
        check_matrix_product<double>(group, n_cols, piece);
      }
}

BOOST_AUTO_TEST_SUITE_END()
