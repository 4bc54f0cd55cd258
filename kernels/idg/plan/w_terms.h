// SPDX-License-Identifier: GPL-3.0-or-later
// The two expansions of the w phase; see WHandling in idg.h.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/common/math/chebyshev_phase.h"

namespace apsyn {

/// phi(t) = exp(beta (sqrt(1 - t^2) - 1)) for |t| < 1, else 0 (Barnett, Magland and af Klinteberg 2019).
double semicircle_kernel(double beta, double t);
/// integral_-1^1 phi(t) cos(x t) dt for |x| <= max_x: Gauss-Legendre quadrature at Chebyshev nodes of x, for
/// every pixel a series through these. Both to rounding.
class SemicircleTransform {
 public:
  SemicircleTransform(double beta, double max_x);
  double operator()(double x) const;

 private:
  double max_x_;
  std::vector<double> factor_;  ///< of T_0, T_2, T_4 .. of x / max_x
};
/// Support (layers) and beta of a kernel with relative error about `error` at oversampling 2.
struct SemicircleShape {
  std::size_t support = 0;
  double beta = 0;
};
SemicircleShape semicircle_shape(double error);

}  // namespace apsyn
