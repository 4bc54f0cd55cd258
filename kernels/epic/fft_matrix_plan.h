// SPDX-License-Identifier: GPL-3.0-or-later
// What the kernels of fft_matrix.cuh need, made on the host. For host code with CUDA only.
#pragma once

#include <optional>
#include <vector>

#include "kernels/epic/fft_matrix.cuh"
#include "kernels/epic/fft_setup.h"

namespace apsyn::epic_fft {

/// Bins of an axis that are wanted, in pairs about a middle between two of them.
struct FoldedBins {
  FoldedBins() = default;
  FoldedBins(const std::vector<std::size_t>& bins, std::size_t length);
  std::size_t n = 0;        ///< of the transform
  std::int64_t middle = 0;  ///< the pair 0 is middle, middle - 1
  std::size_t pairs = 0;
  struct Place {
    std::size_t pair;
    bool below;  ///< the middle
  };
  Place place(std::size_t bin) const;

 private:
  std::int64_t around_zero(std::size_t bin) const;
};

struct MatrixPlan {
  FoldedBins bins_x, bins_y;
  MatrixSize size;
  int pieces_x = 1, pieces_y = 1;
  int quads_x = 1, quads_y = 1;
  float weight_scale = 1;            ///< of the kernels' weights, a power of 2
  std::vector<float> channel_scale;  ///< of samples up to 1: powers of 2, so that no sum exceeds a half
  std::vector<uint4> row_table;      ///< [piece of y][part][y even, odd][16 m][step][lane]
  std::vector<uint2> column_table;   ///< [piece of x][warp][part][x even, odd][step][8 l][lane]

  std::size_t piece_sums() const { return static_cast<std::size_t>(matrix_sums(size)) * kMatrixThreads; }
  /// Where the sum `value` of a pixel is among those of a channel whose blocks all have one part.
  std::size_t place_of(std::size_t bin_x, std::size_t bin_y, std::size_t value) const;
};

/// `n_part`: of operands. None for arrays that reach too many cells (96 along both axes of one part, 64 along
/// one of them of two) for blocks of `shared_bytes`, images of 2^30 pixels and more, and where a single power
/// is wanted.
std::optional<MatrixPlan> plan_matrix(const EpicPlan& plan, const FftGridded& gridded, int n_part,
                                      std::size_t shared_bytes);

/// The antennas of each tile of cells, for one channel.
struct TileLists {
  std::vector<std::uint32_t> steps;     ///< [quad][tile] its first step
  std::vector<uint4> weights;           ///< [step][part][re, im][lane]
  std::vector<std::uint16_t> antennas;  ///< [step][16]
};
TileLists make_tile_lists(const GridLists& lists, const MatrixPlan& plan, std::size_t n_ant);

}  // namespace apsyn::epic_fft
