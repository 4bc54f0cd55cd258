// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA gridder's constants of a plan. With pixels at half-integers, x = +-1/2, +-3/2, ... +-(L - 1)/2,
// cosines and sines of the positive half hold everything:
//
//   C[term][plane][re cos_y, re sin_y, im cos_y, im sin_y][y][cos_x, sin_x][x] = sum_k A[k][row] B[k][col]
//
// which is a real matrix product; the four quadrants follow from signs. The terms carry w: T_r((w - w_layer)
// / half_w), combined per pixel with the coefficients of exp(-i z t), or the kernel's value for each layer.
#pragma once

#include <complex>
#include <memory>

#include "kernels/idg/idg.h"

namespace apsyn {

/// Constants of a plan, shared by all threads.
template <class T>
struct SubgridTables {
  SubgridTables(const IdgPlan& plan, std::size_t n_data_planes, PsfPlane psf);
  IdgPlan plan;
  std::size_t n_data_planes = 0, n_planes = 0;
  std::size_t n_outputs = 1;  ///< subgrids per task and plane: 1 (Chebyshev) or n_terms (kernel)
  Buffer<double, 2> taper;    ///< [y][x], positive quadrant [L/2][L/2]
  /// [term][y][x] of the positive quadrant: magnitude of (2 - [r = 0]) (-i)^r J_r; (-i)^r is applied in code.
  Buffer<double, 3> coefficient;
  Buffer<std::complex<double>, 1> uv_phase;  ///< [cell], cells in rising order: exp(-i pi k (L - 1) / L) / L
};

}  // namespace apsyn
