// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/short_kernel.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace apsyn {
namespace {

constexpr std::size_t supports[] = {4, 6, 7, 8, 10, 12, 14, 16};

std::size_t choose_support(double error) {
  for (std::size_t support : supports)
    if (10 * std::exp(-std::numbers::pi * static_cast<double>(support) * std::sqrt(0.5)) <= error)
      return support;
  return 16;
}

}  // namespace

ShortKernel::ShortKernel(double error, std::size_t side)
    : support_(choose_support(error)),
      side_(static_cast<double>(side)),
      beta_(2.3 * static_cast<double>(support_)),
      transform_(beta_) {
  const double wanted = std::max(error / 10, 1e-15);
  for (std::size_t degree = 4; degree <= 24; ++degree) {
    fit(degree);
    if (fit_error() <= wanted) break;
  }
}

double ShortKernel::correction(double x) const {
  const double half = static_cast<double>(support_) / 2;
  return half * transform_(2 * std::numbers::pi * half * x / (oversampling * side_));
}

std::size_t ShortKernel::cells(double reach) const {
  return 2 * static_cast<std::size_t>(std::ceil(reach + static_cast<double>(support_) / 2 + 0.5));
}

/// Chebyshev interpolation, then its powers of z.
void ShortKernel::fit(std::size_t degree) {
  const std::size_t n = degree + 1;
  coefficients_.assign(n * stride(), 0);
  std::vector<double> value(n), chebyshev(n), previous(n), current(n), next(n);
  for (std::size_t cell = 0; cell < support_; ++cell) {
    for (std::size_t i = 0; i < n; ++i) {
      const double z = std::cos(std::numbers::pi * (static_cast<double>(i) + 0.5) / static_cast<double>(n));
      const double t = ((z + 1) / 2 + static_cast<double>(cell)) * 2 / static_cast<double>(support_) - 1;
      value[i] = semicircle_kernel(beta_, t);
    }
    for (std::size_t k = 0; k < n; ++k) {
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i)
        sum += value[i] * std::cos(std::numbers::pi * static_cast<double>(k) *
                                   (static_cast<double>(i) + 0.5) / static_cast<double>(n));
      chebyshev[k] = sum * (k == 0 ? 1 : 2) / static_cast<double>(n);
    }
    std::fill(previous.begin(), previous.end(), 0);
    std::fill(current.begin(), current.end(), 0);
    previous[0] = 1;
    current[std::min<std::size_t>(1, degree)] = 1;
    coefficients_[cell] += chebyshev[0];
    for (std::size_t k = 1; k < n; ++k) {
      for (std::size_t p = 0; p < n; ++p) coefficients_[p * stride() + cell] += chebyshev[k] * current[p];
      for (std::size_t p = 0; p < n; ++p) next[p] = (p > 0 ? 2 * current[p - 1] : 0) - previous[p];
      previous = current;
      current = next;
    }
  }
}

double ShortKernel::fit_error() const {
  double worst = 0;
  for (std::size_t cell = 0; cell < support_; ++cell)
    for (int i = 0; i <= 40; ++i) {
      const double z = i / 20.0 - 1;
      double sum = 0;
      for (std::size_t p = degree() + 1; p-- > 0;) sum = sum * z + coefficients_[p * stride() + cell];
      const double t = ((z + 1) / 2 + static_cast<double>(cell)) * 2 / static_cast<double>(support_) - 1;
      worst = std::max(worst, std::abs(sum - semicircle_kernel(beta_, t)));
    }
  return worst;
}

}  // namespace apsyn
