// SPDX-License-Identifier: GPL-3.0-or-later
// What happens to a subgrid between its products: everything that goes through its values once.
//
// Transforms between places at half-integers +-(i + 1/2) are folded: sums ("even") and differences ("odd") of
// the values at +- take cosines and sines, which are real, so that nothing complex is multiplied:
//
//   F(+-x) = C(x) -+ i S(x),  C = sum even cos,  S = sum odd sin
//
// and likewise along y. A folded array holds the four parities (y, x), each over the positive quadrant.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <vector>

#include "libcore/base/view.h"

namespace apsyn {

/// Folded image: [parity y][y][plane][re, im][parity x][x].
struct FoldedShape {
  std::size_t n_planes = 1;
  std::size_t half = 0;     ///< pixels of the positive half side
  std::size_t rows = 0;     ///< half, rounded up to matrix_product_rows
  std::size_t columns = 0;  ///< half, rounded up to 64 bytes
  std::size_t row_size() const { return 4 * n_planes * columns; }
  std::size_t size() const { return 2 * rows * row_size(); }
};

/// Cells [2 half_v][row_stride] of [plane][re, im], the middle between cells half - 1 and half, to
/// folded [parity v][v][parity u][u][plane][re, im], `columns` values for each parity u.
template <class T>
struct CellFolding {
  std::size_t n_planes = 1, half_u = 0, half_v = 0, row_stride = 0, columns = 0;
  const T* cells = nullptr;
  T* folded = nullptr;
};
void fold_cells(const CellFolding<float>& folding);
void fold_cells(const CellFolding<double>& folding);

/// re + i im = factor exp(-2 pi i offset w), n a multiple of 64 bytes.
void fill_screen(std::size_t n, const double* offset, double w, const float* factor, float* re, float* im);
void fill_screen(std::size_t n, const double* offset, double w, const double* factor, double* re, double* im);

/// sum = or += image times a screen [y][x] that is the same in all quadrants.
template <class T>
struct Screening {
  FoldedShape shape;
  const T* image = nullptr;
  const T* re = nullptr;
  const T* im = nullptr;
  bool first = false;
  T* sum = nullptr;
};
void add_screened(const Screening<float>& screening);
void add_screened(const Screening<double>& screening);

/// Folded uv cells [parity v][v][plane][re, im][parity u][u] (even: 0 .. half - 1; odd: 1 .. half) of one
/// plane to the subgrid [v][u] in rising cells from -half.
void unfold_cells(const FoldedShape& shape, const float* cells, std::size_t plane,
                  View<std::complex<float>, 2> subgrid);
void unfold_cells(const FoldedShape& shape, const double* cells, std::size_t plane,
                  View<std::complex<double>, 2> subgrid);

}  // namespace apsyn
