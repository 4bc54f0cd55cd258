// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/least_squares.h"

#include <algorithm>
#include <cmath>

namespace apsyn {
namespace {

/// Eight sums at a time: one alone would wait for each addition.
double dot_product(const double* a, const double* b, std::size_t n) {
  constexpr std::size_t at_once = 8;
  double part[at_once] = {};
  std::size_t i = 0;
  for (; i + at_once <= n; i += at_once)
    for (std::size_t k = 0; k < at_once; ++k) part[k] += a[i + k] * b[i + k];
  double sum = 0;
  for (; i < n; ++i) sum += a[i] * b[i];
  for (double each : part) sum += each;
  return sum;
}

}  // namespace

std::vector<double> LeastSquares::solve() {
  const std::size_t n = std::min(n_rows_, n_columns_);
  std::vector<double> diagonal(n_columns_, 0.0);
  auto column = [&](std::size_t j) { return values_.data() + j * n_rows_; };
  double largest = 0;
  for (std::size_t j = 0; j < n; ++j) {
    double* v = column(j);
    const double norm = std::sqrt(dot_product(v + j, v + j, n_rows_ - j));
    largest = std::max(largest, norm);
    if (norm <= largest * 1e-15) continue;
    diagonal[j] = v[j] > 0 ? -norm : norm;
    v[j] -= diagonal[j];
    const double scale = -1 / (v[j] * diagonal[j]);  // 2 / v.v
    for (std::size_t k = j + 1; k <= n_columns_; ++k) {
      double* other = column(k);
      const double dot = scale * dot_product(v + j, other + j, n_rows_ - j);
      for (std::size_t i = j; i < n_rows_; ++i) other[i] -= dot * v[i];
    }
  }
  std::vector<double> x(n_columns_, 0.0);
  for (std::size_t j = n; j-- > 0;) {
    if (diagonal[j] == 0) continue;
    double rest = column(n_columns_)[j];
    for (std::size_t k = j + 1; k < n_columns_; ++k) rest -= column(k)[j] * x[k];
    x[j] = rest / diagonal[j];
  }
  return x;
}

}  // namespace apsyn
