// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/calibrate/cholesky.h"

#include <cmath>
#include <limits>
#include <utility>

namespace apsyn {

Cholesky::Cholesky(std::vector<double> matrix, std::size_t n) : n_(n), lower_(std::move(matrix)) {
  for (std::size_t row = 0; row < n; ++row) {
    double* own = lower_.data() + row * n;
    const double diagonal = own[row];
    for (std::size_t column = 0; column <= row; ++column) {
      const double* other = lower_.data() + column * n;
      double sum = own[column];
      for (std::size_t k = 0; k < column; ++k) sum -= own[k] * other[k];
      if (column < row) {
        own[column] = sum * other[column];
      } else {
        own[row] = sum > 1e-12 * diagonal && std::isfinite(sum) ? 1 / std::sqrt(sum) : 0;
      }
    }
  }
}

void Cholesky::solve(double* x) const {
  for (std::size_t row = 0; row < n_; ++row) {
    const double* own = lower_.data() + row * n_;
    double sum = x[row];
    for (std::size_t k = 0; k < row; ++k) sum -= own[k] * x[k];
    x[row] = sum * own[row];
  }
  for (std::size_t row = n_; row-- > 0;) {
    const double* own = lower_.data() + row * n_;
    x[row] *= own[row];
    for (std::size_t k = 0; k < row; ++k) x[k] -= own[k] * x[row];
  }
}

std::vector<double> Cholesky::inverse_diagonal() const {
  // The columns of L^-1, whose squares add up.
  std::vector<double> variance(n_), column(n_);
  for (std::size_t c = 0; c < n_; ++c) {
    column[c] = lower_[c * n_ + c];
    double sum = column[c] * column[c];
    for (std::size_t row = c + 1; row < n_; ++row) {
      const double* own = lower_.data() + row * n_;
      double value = 0;
      for (std::size_t k = c; k < row; ++k) value -= own[k] * column[k];
      column[row] = value * own[row];
      sum += column[row] * column[row];
    }
    variance[c] = lower_[c * n_ + c] == 0 ? std::numeric_limits<double>::infinity() : sum;
  }
  return variance;
}

}  // namespace apsyn
