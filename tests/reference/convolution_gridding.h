// SPDX-License-Identifier: GPL-3.0-or-later
// Gridding and degridding by convolution, literally and in float64.
#pragma once

#include <array>
#include <complex>
#include <functional>
#include <vector>

namespace apsyn::reference {

/// A grid of uv cells, periodic, with (0, 0) in the middle.
struct UvGrid {
  std::size_t n = 0;
  std::vector<std::array<std::complex<double>, 4>> cells;  ///< [v][u][polarisation]
  explicit UvGrid(std::size_t n_cells) : n(n_cells), cells(n_cells * n_cells) {}
};

/// The kernel's Fourier transform at coarse pixel (y, x), each from -size/2 on.
using ImageFunction = std::function<std::complex<double>(int y, int x)>;

/// Rounds (u, v), in cells, to 1 / oversampling and adds value K(cell - (u, v)) to the size x size cells from
/// floor(u) - size/2 + 1 on, K(x) = 1 / size^2 sum_p S(p) exp(+2 pi i x.p / size).
void convolve_onto(UvGrid& grid, const ImageFunction& s, int size, int oversampling, double u, double v,
                   const std::array<std::complex<double>, 4>& value);

/// The adjoint: the sum of conj(K(cell - (u, v))) times the cells.
std::array<std::complex<double>, 4> convolve_from(const UvGrid& grid, const ImageFunction& s, int size,
                                                  int oversampling, double u, double v);

}  // namespace apsyn::reference
