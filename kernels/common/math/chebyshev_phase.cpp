// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/math/chebyshev_phase.h"

#include <cmath>

namespace apsyn {

double bessel_j(std::size_t order, double z) {
  const double value = std::cyl_bessel_j(static_cast<double>(order), std::abs(z));
  return z < 0 && order % 2 == 1 ? -value : value;
}

std::size_t chebyshev_terms(double z_max, double error) {
  // Beyond order z the coefficients fall faster than geometrically: the sum of the rest is at most twice its
  // first term once that is small. J_r grows with z below its first maximum, so z_max is the worst.
  std::size_t n = 1;
  while (static_cast<double>(n) < z_max || 4 * std::abs(bessel_j(n, z_max)) > error) ++n;
  return n;
}

}  // namespace apsyn
