// SPDX-License-Identifier: GPL-3.0-or-later
// The two expansions of the w phase; see WHandling in idg.h.
#pragma once

#include <cstddef>

#include "kernels/common/chebyshev_phase.h"

namespace apsyn {

/// phi(t) = exp(beta (sqrt(1 - t^2) - 1)) for |t| < 1, else 0 (Barnett, Magland and af Klinteberg 2019).
double semicircle_kernel(double beta, double t);
/// integral_-1^1 phi(t) cos(x t) dt by Gauss-Legendre quadrature.
class SemicircleTransform {
 public:
  explicit SemicircleTransform(double beta);
  double operator()(double x) const;

 private:
  static constexpr std::size_t n_nodes = 64;
  double node_[n_nodes], weight_[n_nodes];
};
/// Support (layers) and beta of a kernel with relative error about `error` at oversampling 2.
struct SemicircleShape {
  std::size_t support = 0;
  double beta = 0;
};
SemicircleShape semicircle_shape(double error);

}  // namespace apsyn
