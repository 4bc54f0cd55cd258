// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/least_squares.h"

#include <algorithm>
#include <cmath>

namespace apsyn {

std::vector<double> LeastSquares::solve() {
  const std::size_t n = std::min(n_rows_, n_columns_);
  std::vector<double> diagonal(n_columns_, 0.0);
  auto column = [&](std::size_t j) { return values_.data() + j * n_rows_; };
  double largest = 0;
  for (std::size_t j = 0; j < n; ++j) {
    double* v = column(j);
    double norm = 0;
    for (std::size_t i = j; i < n_rows_; ++i) norm += v[i] * v[i];
    norm = std::sqrt(norm);
    largest = std::max(largest, norm);
    if (norm <= largest * 1e-15) continue;
    diagonal[j] = v[j] > 0 ? -norm : norm;
    v[j] -= diagonal[j];
    const double scale = -1 / (v[j] * diagonal[j]);  // 2 / v.v
    for (std::size_t k = j + 1; k <= n_columns_; ++k) {
      double* other = column(k);
      double dot = 0;
      for (std::size_t i = j; i < n_rows_; ++i) dot += v[i] * other[i];
      dot *= scale;
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
