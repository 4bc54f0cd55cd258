// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/fft.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <stdexcept>

#include "kernels/common/outer_sum.h"
#include "libcore/core/view.h"

using namespace apsyn;

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

BOOST_AUTO_TEST_CASE(complex_transforms) {
  for (FftSign sign : {FftSign::minus, FftSign::plus}) {
    BOOST_CHECK_LE(worst_error<float>(1, 30, sign), 2e-6);
    BOOST_CHECK_LE(worst_error<float>(12, 10, sign), 2e-6);
    BOOST_CHECK_LE(worst_error<double>(1, 31, sign), 1e-14);
    BOOST_CHECK_LE(worst_error<double>(9, 16, sign), 1e-14);
  }
}

BOOST_AUTO_TEST_CASE(real_transforms) {
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

BOOST_AUTO_TEST_CASE(misuse_throws) {
  Buffer<std::complex<float>, 1> data({32});
  BOOST_CHECK_THROW(ComplexFft<float>(16, 1, FftSign::plus).execute(data.data() + 1), std::invalid_argument);
  BOOST_CHECK_THROW(ComplexFft<float>(0, 1, FftSign::plus), std::length_error);
}

BOOST_AUTO_TEST_CASE(fast_lengths) {
  BOOST_CHECK_EQUAL(fast_fft_length(0), 2u);
  BOOST_CHECK_EQUAL(fast_fft_length(97), 98u);
  BOOST_CHECK_EQUAL(fast_fft_length(1021), 1024u);
  BOOST_CHECK_EQUAL(fast_fft_length(3072), 3072u);
}

BOOST_AUTO_TEST_CASE(outer_sums) {
  // Whole numbers: the sums are exact in any order.
  constexpr std::size_t n_k = 37, n_rows = 24;
  for (std::size_t n_cols : {std::size_t{16}, std::size_t{48}}) {
    Buffer<float, 2> a({n_k, n_rows}), b({n_k, n_cols}), c({n_rows, n_cols});
    Buffer<double, 2> a2({n_k, n_rows}), b2({n_k, n_cols}), c2({n_rows, n_cols});
    std::mt19937 random(3);
    for (std::size_t i = 0; i < a.size(); ++i) a2.data()[i] = a.data()[i] = float(random() % 19) - 9;
    for (std::size_t i = 0; i < b.size(); ++i) b2.data()[i] = b.data()[i] = float(random() % 19) - 9;
    c.fill(5);
    c2.fill(5);
    outer_sum(n_k, n_rows, n_cols, a.data(), b.data(), c.data());
    outer_sum(n_k, n_rows, n_cols, a2.data(), b2.data(), c2.data());
    for (std::size_t row = 0; row < n_rows; ++row)
      for (std::size_t col = 0; col < n_cols; ++col) {
        double sum = 5;
        for (std::size_t k = 0; k < n_k; ++k) sum += a2(k, row) * b2(k, col);
        BOOST_CHECK_EQUAL(c(row, col), sum);
        BOOST_CHECK_EQUAL(c2(row, col), sum);
      }
  }
}
