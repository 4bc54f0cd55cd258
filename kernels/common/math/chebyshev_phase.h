// SPDX-License-Identifier: GPL-3.0-or-later
// A phase over an interval as a short sum of Chebyshev polynomials (Jacobi and Anger):
//   exp(-i z t) = sum_r (2 - [r = 0]) (-i)^r J_r(z) T_r(t),   |t| <= 1.
#pragma once

#include <cstddef>

namespace apsyn {

/// Least number of terms, so that the rest is below `error` for every |z| <= z_max.
std::size_t chebyshev_terms(double z_max, double error);
/// J_r(z), also for negative z.
double bessel_j(std::size_t order, double z);

}  // namespace apsyn
