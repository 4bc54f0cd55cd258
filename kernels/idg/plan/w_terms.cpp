// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/plan/w_terms.h"

#include <cmath>
#include <numbers>

#include "kernels/common/math/gauss_legendre.h"

namespace apsyn {

double semicircle_kernel(double beta, double t) {
  const double rest = 1 - t * t;
  return rest > 0 ? std::exp(beta * (std::sqrt(rest) - 1)) : 0.0;
}

SemicircleTransform::SemicircleTransform(double beta, double max_x) : max_x_(max_x) {
  // Substituting t = sin(pi s / 2) removes the root at the ends.
  const GaussLegendre rule = gauss_legendre(80);
  auto integral = [&](double x) {
    double sum = 0;
    for (std::size_t i = 0; i < rule.x.size(); ++i) {
      const double angle = std::numbers::pi / 2 * rule.x[i], t = std::sin(angle);
      sum += rule.weight[i] * std::numbers::pi / 2 * std::cos(angle) * semicircle_kernel(beta, t) *
             std::cos(x * t);
    }
    return sum;
  };
  // cos(x t) has the coefficients 2 J_2k(max_x t), which fall faster than exponentially beyond 2 k = max_x.
  const auto n = static_cast<std::size_t>(std::ceil(max_x / 2)) + 14;
  factor_.assign(n, 0);
  for (std::size_t j = 0; j < n; ++j) {
    // T_2k(x) = T_k(2 x^2 - 1): the nodes are those of y = 2 x^2 - 1.
    const double angle = std::numbers::pi * (static_cast<double>(j) + 0.5) / static_cast<double>(n);
    const double value = integral(max_x * std::cos(angle / 2)) * 2 / static_cast<double>(n);
    for (std::size_t k = 0; k < n; ++k) factor_[k] += value * std::cos(static_cast<double>(k) * angle);
  }
  factor_[0] /= 2;
}

double SemicircleTransform::operator()(double x) const {
  const double share = x / max_x_, y = 2 * share * share - 1;
  double last = 0, before = 0;  // Clenshaw
  for (std::size_t k = factor_.size() - 1; k > 0; --k) {
    const double next = 2 * y * last - before + factor_[k];
    before = last;
    last = next;
  }
  return y * last - before + factor_[0];
}

SemicircleShape semicircle_shape(double error) {
  // At oversampling 2 the error falls as exp(-pi W sqrt(1/2)) and beta = 2.3 W is near the best (the paper's
  // section 4); the factor 30 was measured.
  SemicircleShape shape;
  const double wanted = std::log(30 / error) / (std::numbers::pi * std::sqrt(0.5));
  shape.support = static_cast<std::size_t>(std::ceil(wanted));
  if (shape.support < 4) shape.support = 4;
  if (shape.support > 16) shape.support = 16;
  shape.beta = 2.3 * static_cast<double>(shape.support);
  return shape;
}

}  // namespace apsyn
