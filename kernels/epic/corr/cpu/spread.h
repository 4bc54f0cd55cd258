// SPDX-License-Identifier: GPL-3.0-or-later
// Spreads the pairs of one antenna with others onto fine cells, by the polynomials of a SpreadKernel:
//   cells[v][u][matrix] += phi(s_v - v) phi(s_u - u) p_a p_b* M_ab[matrix].
// The cells of a pair are the same for all nodes in n (pair_imager.h), so they are computed once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace apsyn {

/// Upper limit on the width of kernels, in cells.
inline constexpr std::size_t kPairTaps = 8;

/// The grid repeats every cells_x by cells_y cells; it is kept with a margin of kPairTaps cells: the first
/// cell, [cells_y + kPairTaps][cells_x + kPairTaps], stands width / 2 before the grid's.
struct PairLocation {
  /// Coefficients of the kernel: [power][tap], kPairTaps for each power, zeros after the last.
  const float* taps = nullptr;
  std::size_t n_power = 0, width = 0;
  std::size_t cells_x = 0, cells_y = 0;
  const double *x = nullptr, *y = nullptr;  ///< antennas in cells: [ant]
  std::size_t a = 0, n_ant = 0;             ///< pairs (a, b), a < b < n_ant
  std::uint32_t* cell = nullptr;  ///< [b - a - 1] of the first tap, line (cells_x + kPairTaps) + column
  float* pair_taps = nullptr;     ///< [b - a - 1][x, y][tap]
};
void locate_pairs(const PairLocation& location);

struct PairSpread {
  std::size_t width = 0, n_matrix = 1;
  const float* phase = nullptr;  ///< [ant][re, im]
  std::size_t a = 0, n_ant = 0;
  const std::uint32_t* cell = nullptr;
  const float* pair_taps = nullptr;
  const float* pairs = nullptr;  ///< [b - a - 1][matrix][re, im]
  float* cells = nullptr;        ///< [line][column][matrix][re, im], and 8 floats more
  std::size_t line_cells = 0;    ///< cells_x + kPairTaps
};
void spread_pairs(const PairSpread& spread);

/// Pixels between the sites of a lattice (pair_lattice.h): image = factor sum psi(y - j) psi(x - i) site_ji,
/// for one or two planes.
struct SiteInterpolation {
  const float* taps = nullptr;  ///< as PairLocation
  std::size_t n_power = 0, width = 0;
  const float* sites = nullptr;  ///< [plane][line][column], with kPairTaps more lines and columns behind
  std::size_t plane_sites = 0, line_sites = 0;
  std::size_t n_plane = 1;
  const double* places = nullptr;  ///< [pixel][x, y]
  const float* factors = nullptr;  ///< [pixel]
  std::size_t n_pixel = 0;
  float* image = nullptr;        ///< [pixel][plane]
  std::size_t pixel_stride = 1;  ///< floats from pixel to pixel
};
void interpolate_sites(const SiteInterpolation& sites);

}  // namespace apsyn
