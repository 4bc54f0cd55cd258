// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/w_terms.h"

#include <cmath>
#include <numbers>

namespace apsyn {

double semicircle_kernel(double beta, double t) {
  const double rest = 1 - t * t;
  return rest > 0 ? std::exp(beta * (std::sqrt(rest) - 1)) : 0.0;
}

SemicircleTransform::SemicircleTransform(double beta) {
  // Gauss-Legendre nodes by Newton's method; substituting t = sin(pi s / 2) removes the root at the ends.
  for (std::size_t i = 0; i < n_nodes; ++i) {
    double x = std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (n_nodes + 0.5)), slope = 1;
    for (int iteration = 0; iteration < 20; ++iteration) {
      double previous = 1, current = x;
      for (std::size_t k = 2; k <= n_nodes; ++k) {
        const double kd = static_cast<double>(k);
        const double next = ((2 * kd - 1) * x * current - (kd - 1) * previous) / kd;
        previous = current;
        current = next;
      }
      slope = n_nodes * (x * current - previous) / (x * x - 1);
      x -= current / slope;
    }
    const double t = std::sin(std::numbers::pi / 2 * x);
    node_[i] = t;
    weight_[i] = 2 / ((1 - x * x) * slope * slope) * std::numbers::pi / 2 *
                 std::cos(std::numbers::pi / 2 * x) * semicircle_kernel(beta, t);
  }
}

double SemicircleTransform::operator()(double x) const {
  double sum = 0;
  for (std::size_t i = 0; i < n_nodes; ++i) sum += weight_[i] * std::cos(x * node_[i]);
  return sum;
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
