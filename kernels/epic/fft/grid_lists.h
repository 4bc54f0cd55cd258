// SPDX-License-Identifier: GPL-3.0-or-later
// The antennas that contribute to each cell of the grid, for one channel: gridding gathers, so that a row of
// cells is computed in the first-level cache and transformed immediately; nothing is accumulated in memory.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "kernels/epic/fft/gridding_kernel.h"

namespace apsyn {

struct GridEntry {
  std::uint32_t ant = 0;
  float re = 0, im = 0;  ///< of c
};

struct GridCell {
  std::uint32_t column = 0;  ///< 0 .. GridAxis::n - 1
  std::uint32_t begin = 0;   ///< its first entry; they end where those of the next cell begin
};

/// Contains only rows and cells that an antenna reaches. Cell j of the plane is stored at j modulo n, which
/// does not change the transform at the pixels. The array is moved so that it begins at cell 0, which turns
/// all antennas alike.
struct GridLists {
  std::size_t n_row = 0, n_column = 0;           ///< all rows and columns that are reached are below
  bool real = true;                              ///< every c is real
  std::int64_t first_column = 0, first_row = 0;  ///< cell of the plane that is at cell 0
  std::vector<std::uint32_t> rows;               ///< [row] 0 .. GridAxis::n - 1, rising
  std::vector<std::uint32_t> row_begin;          ///< [row + 1] its first cell
  std::vector<GridCell> cells;                   ///< [cell + 1]
  std::vector<GridEntry> entries;
  /// [ant][dy 0 .. cells - 1][dx -(cells - 1) .. cells - 1]: sum_j c_(j + d) conj(c_j). An antenna's own
  /// power at xi is the sum over d, negative dy included, of this times exp(-2 pi i d.xi).
  Buffer<std::complex<double>, 3> lags;
};

GridLists make_grid_lists(const EpicPlan& plan, const EpicGeometry& geometry, const FftGrid& grid,
                          const KernelFit& kernel, double freq_hz);

/// [kind of aperture][node of the kernel] conj(a).
std::vector<std::vector<std::complex<double>>> aperture_nodes(const EpicPlan& plan, const FftGrid& grid,
                                                              const KernelFit& kernel, double freq_hz);

/// Memory of a GridLists, known before it is made.
std::uint64_t grid_lists_bytes(const EpicPlan& plan);

}  // namespace apsyn
