// SPDX-License-Identifier: GPL-3.0-or-later
// The inner loop of the `fft` imager: spectra of one channel -> sums of products at the pixels of the
// transform.
//
// Spectra are processed in groups, one for each lane of a vector register, so that gridding and transforms of
// any length work on whole registers. One row of cells after the other is gathered and transformed in the
// first-level cache; each column of the results is transformed there, multiplied and summed over the lanes.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "kernels/epic/fft/grid_lists.h"

namespace apsyn {

/// A transform with exponent -1 whose results come in a different order.
struct LaneFft {
  explicit LaneFft(std::size_t length);
  struct Stage {
    std::size_t radix = 2;
    std::size_t length = 2;  ///< of the transforms that this stage begins
    /// [k 0 .. length / radix - 1][j 1 .. radix - 1]: exp(-2 pi i j k / length)
    std::vector<std::complex<float>> turns;
  };
  /// How many of the first places are read when only n_used of them are not 0: all, or half.
  std::size_t reads(std::size_t n_used) const {
    return !stages.empty() && stages[0].radix == 4 && 2 * n_used <= length ? length / 2 : length;
  }

  std::size_t length = 0;
  std::vector<Stage> stages;
  std::vector<std::uint32_t> place;  ///< [frequency] where it ends up
};

/// Pixels of the transform that are wanted.
struct LanePixels {
  struct Column {
    std::uint32_t place = 0;           ///< in the row transform's results
    std::uint32_t begin = 0, end = 0;  ///< rows that are wanted
  };
  std::vector<Column> columns;
  std::vector<std::uint32_t>
      column_at;  ///< [place] of the row transform's results: its column, or their number
  std::vector<std::uint32_t> row_place;  ///< [row] in the column transform's results
  /// Number of rows of the sums, a multiple of 4.
  std::size_t n_row() const { return (row_place.size() + 3) / 4 * 4; }
};

struct LaneSpectra {
  const float* planes = nullptr;  ///< of SpectraBlock, one channel's: [panel][spectrum][re 16 | im 16]
  std::size_t panel_stride = 0;   ///< floats
  std::size_t n_spectra = 0;      ///< any number
  std::size_t n_ant = 0, n_pol = 1;
  std::size_t first_pol = 0;  ///< of those that are used
  std::size_t n_value = 1;    ///< sums per pixel: 1 of one polarisation, 2 XX YY, 4 XX YY Re XY Im XY
  const std::complex<float>* factor = nullptr;  ///< [ant][pol]
};

/// Working memory of one thread.
struct LaneScratch {
  Buffer<float, 1> samples, cells, rows;
};

/// sums [column][row, n_row() of them][value] += the products of these spectra; powers [ant][value] (not when
/// null) += the products of each antenna with itself.
void add_lane_spectra(const LaneSpectra& spectra, const GridLists& lists, const LaneFft& fft_x,
                      const LaneFft& fft_y, const LanePixels& pixels, LaneScratch& scratch, float* sums,
                      double* powers);

/// Bytes of a LaneScratch.
std::uint64_t lane_scratch_bytes(std::size_t n_ant, std::size_t n_pol, const FftGrid& grid);

}  // namespace apsyn
