// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/math/prolate.h"

#include <cmath>
#include <cstddef>
#include <utility>

namespace apsyn {

/// Eigenvector of the least eigenvalue of the spheroidal operator in normalised Legendre polynomials of even
/// degree k = 2 j (Xiao, Rokhlin and Yarvin 2001, eq. 63-64), by inverse iteration.
std::vector<double> prolate_series(double c) {
  const auto n = static_cast<std::size_t>(40 + c);
  std::vector<double> diagonal(n), off(n), vector(n, 0.0), pivot(n), upper(n), rhs(n);
  for (std::size_t j = 0; j < n; ++j) {
    const double k = 2.0 * static_cast<double>(j);
    diagonal[j] = k * (k + 1) + (2 * k * (k + 1) - 1) / ((2 * k + 3) * (2 * k - 1)) * c * c;
    off[j] = (k + 2) * (k + 1) / ((2 * k + 3) * std::sqrt((2 * k + 1) * (2 * k + 5))) * c * c;
  }
  pivot[0] = diagonal[0];
  for (std::size_t j = 1; j < n; ++j) {
    upper[j - 1] = off[j - 1] / pivot[j - 1];
    pivot[j] = diagonal[j] - off[j - 1] * upper[j - 1];
  }
  vector[0] = 1;
  for (int iteration = 0; iteration < 100; ++iteration) {
    rhs[0] = vector[0] / pivot[0];
    for (std::size_t j = 1; j < n; ++j) rhs[j] = (vector[j] - off[j - 1] * rhs[j - 1]) / pivot[j];
    for (std::size_t j = n - 1; j-- > 0;) rhs[j] -= upper[j] * rhs[j + 1];
    double norm = 0;
    for (double value : rhs) norm += value * value;
    const double length = std::sqrt(norm);
    for (double& value : rhs) value /= length;
    if (rhs == vector) break;  // to the last bit: it stays
    std::swap(rhs, vector);
  }
  for (std::size_t j = 0; j < n; ++j) vector[j] *= std::sqrt(2.0 * static_cast<double>(j) + 0.5);
  return vector;
}

double even_legendre_sum(const std::vector<double>& coefficients, double x) {
  double previous = 1, current = x, sum = coefficients[0];
  for (std::size_t j = 1; j < coefficients.size(); ++j) {
    for (double k : {2.0 * static_cast<double>(j) - 1, 2.0 * static_cast<double>(j)}) {
      if (k == 1) continue;
      const double next = ((2 * k - 1) * x * current - (k - 1) * previous) / k;
      previous = current;
      current = next;
    }
    sum += coefficients[j] * current;
  }
  return sum;
}

std::vector<double> even_legendre_sums(const std::vector<double>& coefficients,
                                       const std::vector<double>& x) {
  std::vector<double> previous(x.size(), 1.0), current(x), sum(x.size(), coefficients[0]);
  for (std::size_t j = 1; j < coefficients.size(); ++j) {
    for (double k : {2.0 * static_cast<double>(j) - 1, 2.0 * static_cast<double>(j)}) {
      if (k == 1) continue;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double next = ((2 * k - 1) * x[i] * current[i] - (k - 1) * previous[i]) / k;
        previous[i] = current[i];
        current[i] = next;
      }
    }
    for (std::size_t i = 0; i < x.size(); ++i) sum[i] += coefficients[j] * current[i];
  }
  return sum;
}

ProlateWindow::ProlateWindow(double c) : series_(prolate_series(c)) {
  scale_ = 1 / (*this)(0);
}

double ProlateWindow::operator()(double x) const {
  return even_legendre_sum(series_, x) * scale_;
}

}  // namespace apsyn
