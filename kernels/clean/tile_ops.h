// SPDX-License-Identifier: GPL-3.0-or-later
// The two inner loops of CLEAN over a rectangle of an image, SIMD chosen at run time.
#pragma once

#include <cstddef>

namespace apsyn {

/// Row-major rectangle inside a larger array: row i begins at data + i * stride.
template <class T>
struct Block {
  T* data = nullptr;
  std::size_t stride = 0, nx = 0, ny = 0;
};

/// image[y][x] -= flux * psf[y][x]; psf_data has rows of psf_stride.
void subtract_psf(const Block<double>& image, const double* psf_data, std::size_t psf_stride, double flux);

struct BlockPeak {
  double value = 0;  ///< of |image| or of positive image; 0 when there is none
  std::size_t row = 0;
};
/// The highest |image| and the first row that has it; `mask` (same stride as image, all bits set or none, or
/// null for all set) leaves pixels out.
BlockPeak peak_absolute(const Block<const double>& image, const double* mask);
/// The highest positive value.
BlockPeak peak_positive(const Block<const double>& image, const double* mask);

}  // namespace apsyn
