// SPDX-License-Identifier: GPL-3.0-or-later
// Loops over planes of real and imaginary parts. For libcore/beams only.
#pragma once

#include <complex>
#include <cstddef>

namespace apsyn {

struct ConstPlanePair {
  const float *re, *im;
};
struct PlanePair {
  float *re, *im;
};

/// to += a b, for n complex numbers.
void add_products(std::size_t n, const ConstPlanePair& a, const ConstPlanePair& b, const PlanePair& to);
/// to := scale to by
void scale_by(std::size_t n, float scale, const ConstPlanePair& by, const PlanePair& to);
/// jones[i][4] := jones[i] scale J_i, with J as eight planes [X north re, im, X east re, ...] `stride` apart.
void multiply_from_right(std::size_t n, float scale, const float* planes, std::size_t stride,
                         std::complex<float>* jones);

}  // namespace apsyn
