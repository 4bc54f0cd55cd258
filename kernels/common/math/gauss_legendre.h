// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

namespace apsyn {

struct GaussLegendre {
  std::vector<double> x, weight;  ///< on [-1, 1], rising; the weights add up to 2
};

/// Nodes and weights that integrate polynomials of degree 2 n - 1 exactly, by Newton's iteration.
inline GaussLegendre gauss_legendre(std::size_t n) {
  GaussLegendre rule;
  const auto degree = static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) {
    double x = -std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (degree + 0.5)), slope = 1;
    for (int iteration = 0; iteration < 20; ++iteration) {
      double previous = 1, current = x;
      for (double k = 2; k <= degree; ++k) {
        const double next = ((2 * k - 1) * x * current - (k - 1) * previous) / k;
        previous = current;
        current = next;
      }
      slope = degree * (x * current - previous) / (x * x - 1);
      const double step = current / slope;
      x -= step;
      if (std::abs(step) < 1e-16) break;
    }
    rule.x.push_back(x);
    rule.weight.push_back(2 / ((1 - x * x) * slope * slope));
  }
  return rule;
}

}  // namespace apsyn
