// SPDX-License-Identifier: GPL-3.0-or-later
// Weighted means of visibilities over channels and time, and their phases about another centre. A cell is one
// channel and product of a row; its weight is 1 / variance, 0 = no data.
//
//   mean = sum_i w_i V_i / sum_i w_i,   weight of the mean = sum_i w_i,
//
// summed in float64 in the order of the data, so that nothing depends on the number of threads.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

namespace apsyn::average {

/// Cells [chan][product] of a row.
struct RowShape {
  std::size_t n_chan = 0, n_product = 0;
  std::size_t size() const { return n_chan * n_product; }
};

/// The number of channels that groups of `n_average` adjacent ones leave: the last group may be smaller.
inline std::size_t averaged_channels(std::size_t n_chan, std::size_t n_average) {
  return (n_chan + n_average - 1) / n_average;
}

/// Means over groups of adjacent channels; `to` and `to_weight`: [group][product]. A group without data gives
/// 0 and no weight.
void average_channels(const std::complex<float>* data, const float* weight, const RowShape& shape,
                      std::size_t n_average, std::complex<float>* to, float* to_weight);

/// Sums of cells: [cell] of w V, re and im, and of w.
struct CellSums {
  std::vector<double> value, weight;  ///< [cell][2], [cell]
  /// Forgets everything.
  void reset(std::size_t n_cells) {
    value.assign(2 * n_cells, 0.0);
    weight.assign(n_cells, 0.0);
  }
};

/// Adds a row's cells and returns the sum of their weights.
double add_row(const std::complex<float>* data, const float* weight, std::size_t n_cells, CellSums& sums);

/// The means of what was added.
void finish_row(const CellSums& sums, std::complex<float>* to, float* to_weight);

/// Cells of rows, wherever they are.
struct RowCells {
  std::vector<const std::complex<float>*> data;
  std::vector<const float*> weight;
};

/// The means of all rows at once, to the bit what add_row() of each and finish_row() give, without sums in
/// memory. `row_weight`: [row], what add_row() returns.
void average_rows(const RowCells& rows, std::size_t n_cells, std::complex<float>* to, float* to_weight,
                  double* row_weight);

/// The phases of a row's channels, -2 pi path_m / wavelength, as libcore/sky/rephase.h has them.
/// `channel_hz`: [chan]. `to` may be `data`.
void turn_row(const std::complex<float>* data, const RowShape& shape, const double* channel_hz, double path_m,
              std::complex<float>* to);

}  // namespace apsyn::average
