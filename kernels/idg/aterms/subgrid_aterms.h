// SPDX-License-Identifier: GPL-3.0-or-later
// A-terms of one baseline on a subgrid's folded image, and the mix of correlations into image planes.
#pragma once

#include <complex>
#include <cstddef>

#include "kernels/idg/cpu/grid/folding.h"
#include "kernels/idg/idg.h"

namespace apsyn {

template <class T>
struct AtermStep {
  FoldedShape shape;        ///< of `in`: XX XY YX YY
  std::size_t n_image = 1;  ///< planes of `out`, at most 4
  AtermMode mode = AtermMode::normalised;
  const std::complex<float>* p = nullptr;  ///< [y][x][XX XY YX YY] Jones matrices of V_pq's stations, folded
  const std::complex<float>* q = nullptr;
  const std::complex<double>* mix = nullptr;  ///< [image plane][XX XY YX YY]
  const T* in = nullptr;
  T* out = nullptr;  ///< FoldedShape of n_image planes
};

/// The equations of aterm_math.h, a vector of pixels at a time.
void apply_aterms(const AtermStep<float>& step);
void apply_aterms(const AtermStep<double>& step);

}  // namespace apsyn
