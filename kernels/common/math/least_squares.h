// SPDX-License-Identifier: GPL-3.0-or-later
// Small dense least-squares problems by Householder reflections.
#pragma once

#include <cstddef>
#include <vector>

namespace apsyn {

class LeastSquares {
 public:
  LeastSquares(std::size_t n_rows, std::size_t n_columns)
      : n_rows_(n_rows), n_columns_(n_columns), values_(n_rows * (n_columns + 1), 0.0) {}

  double& matrix(std::size_t row, std::size_t column) { return values_[column * n_rows_ + row]; }
  double& right(std::size_t row) { return values_[n_columns_ * n_rows_ + row]; }
  /// x that makes |matrix x - right| least; a column that depends on those before it gets 0. Uses up both,
  /// which may then be filled again.
  std::vector<double> solve();

 private:
  std::size_t n_rows_, n_columns_;
  std::vector<double> values_;  // [column, the right side last][row]
};

}  // namespace apsyn
