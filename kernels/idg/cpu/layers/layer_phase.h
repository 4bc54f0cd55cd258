// SPDX-License-Identifier: GPL-3.0-or-later
// The phases between the image and a w layer, a column of pixels at a time.
#pragma once

#include <cstddef>

namespace apsyn {

/// Pixels at one l; pixel i is at m = (first_pixel + i) cell_rad.
struct LayerColumn {
  double l_rad = 0, first_pixel = 0, cell_rad = 0;
  double w_lambda = 0;
  double n_shift = 0;  ///< 0, or what the w kernel puts in place of n - 1: n - 1 + n_shift
};

/// Cosine and sine of 2 pi w (n - 1 + n_shift) for each pixel; NaN where l^2 + m^2 >= 1.
void layer_phases(const LayerColumn& column, std::size_t n, double* cosine, double* sine);

}  // namespace apsyn
