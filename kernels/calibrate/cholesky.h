// SPDX-License-Identifier: GPL-3.0-or-later
// Symmetric positive definite systems in float64.
#pragma once

#include <cstddef>
#include <vector>

namespace apsyn {

/// The lower triangle L of a matrix L L^T.
class Cholesky {
 public:
  /// `matrix` is [n][n], of which the lower triangle is read. A pivot below 1e-12 of its diagonal element
  /// makes the unknown indeterminate: it gets 0 in solutions and an infinite variance.
  Cholesky(std::vector<double> matrix, std::size_t n);
  void solve(double* x) const;  ///< in place
  /// The diagonal of the inverse.
  std::vector<double> inverse_diagonal() const;

 private:
  std::size_t n_;
  std::vector<double> lower_;  ///< [row][column]; the diagonal's inverse on the diagonal, 0 = indeterminate
};

}  // namespace apsyn
