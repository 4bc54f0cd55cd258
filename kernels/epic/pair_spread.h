// SPDX-License-Identifier: GPL-3.0-or-later
// Pairs of one antenna with others onto fine cells, by the polynomials of a SpreadKernel:
//   cells[v][u][matrix] += phi(s_v - v) phi(s_u - u) p_a p_b* M_ab[matrix].
#pragma once

#include <cstddef>

namespace apsyn {

/// Kernels are at most so wide.
inline constexpr std::size_t kPairTaps = 16;

struct PairSpread {
  /// Of the kernel: [power][tap], kPairTaps of each, zeros behind the last.
  const float* taps = nullptr;
  std::size_t n_power = 0, width = 0;
  std::size_t n_matrix = 1;
  /// The grid repeats every cells_x by cells_y cells.
  std::size_t cells_x = 0, cells_y = 0;
  /// Antennas, in cells: [ant]; their phases [ant][re, im].
  const double *x = nullptr, *y = nullptr;
  const float* phase = nullptr;
  std::size_t a = 0, n_ant = 0;  ///< pairs (a, b), a < b < n_ant
  const float* pairs = nullptr;  ///< [b - a - 1][matrix][re, im]
  float* cells = nullptr;        ///< [cells_y + width][row of row_floats]: cell c stands at c + width / 2
  std::size_t row_floats = 0;    ///< >= (cells_x + width) 2 n_matrix + 16
};
void spread_pairs(const PairSpread& spread);

}  // namespace apsyn
