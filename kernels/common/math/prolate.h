// SPDX-License-Identifier: GPL-3.0-or-later
// The prolate spheroidal wave function of order 0 on [-1, 1]: of all windows of bandwidth c it concentrates
// its energy most.
#pragma once

#include <vector>

namespace apsyn {

/// Its coefficients of the Legendre polynomials P_0, P_2, P_4 .., in any scale.
std::vector<double> prolate_series(double c);

/// sum_j coefficients[j] P_2j(x)
double even_legendre_sum(const std::vector<double>& coefficients, double x);
/// The same at each of several places, to the last bit: their divisions wait for each other no longer.
std::vector<double> even_legendre_sums(const std::vector<double>& coefficients, const std::vector<double>& x);

/// 1 at x = 0.
class ProlateWindow {
 public:
  explicit ProlateWindow(double c);
  double operator()(double x) const;

 private:
  std::vector<double> series_;
  double scale_ = 1;
};

}  // namespace apsyn
