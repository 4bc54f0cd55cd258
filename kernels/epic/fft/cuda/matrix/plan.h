// SPDX-License-Identifier: GPL-3.0-or-later
// Tables for the kernels of fft/cuda/matrix/matrix.cuh, made on the host. For host code with CUDA only.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "kernels/epic/fft/cuda/matrix/matrix.cuh"
#include "kernels/epic/fft/setup.h"

namespace apsyn::epic_fft {

/// The wanted bins of an axis, in pairs about a middle between two of them.
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

/// Blocks for a plane.
struct MatrixBlocks {
  MatrixSize size;
  int pieces_x = 1, pieces_y = 1;
  std::size_t n_piece() const {
    return static_cast<std::size_t>(pieces_x) * static_cast<std::size_t>(pieces_y);
  }
  std::size_t piece_sums() const { return static_cast<std::size_t>(matrix_sums(size)) * kMatrixThreads; }
  /// Number of blocks among which spectra are divided, so that a few channels fill a device; it does not
  /// depend on the number of spectra.
  int n_part(std::size_t n_channel, int n_sm) const;
};
/// Blocks for antennas that reach `rows` and `columns` of cells, folded, and for pairs of pixels. `n_part`:
/// parts of an operand. No value if there are too many cells (more than 96 along each axis with one part, 64
/// along one of them with two) for blocks of `shared_bytes`.
std::optional<MatrixBlocks> choose_matrix_blocks(std::size_t rows, std::size_t columns, std::size_t pairs_y,
                                                 std::size_t pairs_x, int n_part, std::size_t shared_bytes);

/// Number of ways in which half-precision weights and tables are rounded. Spectra use them in turn, so that
/// the mean has a finer rounding.
constexpr int kVersions = 4;
constexpr std::size_t kMinSpectra = 32;  ///< for which another version is worth a launch
inline int versions_of(int n_part) {
  return n_part == 1 ? kVersions : 1;
}

/// Number of spectra that are gridded and imaged together; `words`: cells of a spectrum in all channels.
inline std::size_t spectra_of_launch(std::size_t n_spectra, std::size_t words, int n_version) {
  constexpr std::size_t kGridBytes = std::size_t{1} << 30;  // of cells between the kernels
  const std::size_t most =
      std::clamp<std::size_t>(kGridBytes / (words * sizeof(std::uint32_t)), 1, kMatrixSpectra);
  const std::size_t turns =
      std::clamp<std::size_t>(n_spectra / kMinSpectra, 1, static_cast<std::size_t>(n_version));
  const std::size_t n_launch = ((n_spectra + most - 1) / most + turns - 1) / turns * turns;
  return (n_spectra + n_launch - 1) / n_launch;
}

struct MatrixPlan : MatrixBlocks {
  FoldedBins bins_x, bins_y;
  int quads_x = 1, quads_y = 1;
  float weight_scale = 1;  ///< of the kernels' weights, a power of 2
  /// Scales for samples up to 1: powers of 2 with which no sum exceeds the range of halves. One for both
  /// polarisations: the exponents of halves allow one to be a hundred times stronger
  /// (tests/kernels/epic/cuda/fft_shapes.cpp).
  std::vector<float> channel_scale;
  std::vector<uint4> row_table;     ///< [version][piece of y][part][y even, odd][16 m][step][lane]
  std::vector<uint2> column_table;  ///< [version][piece of x][warp][part][x even, odd][step][8 l][lane]

  /// Where the sum `value` of a pixel is among those of a channel whose blocks all have one part.
  std::size_t place_of(std::size_t bin_x, std::size_t bin_y, std::size_t value) const;
};

/// None as choose_matrix_blocks(), for images of 2^30 pixels and more, and where a single power is wanted.
std::optional<MatrixPlan> plan_matrix(const EpicPlan& plan, const FftGridded& gridded, int n_part,
                                      std::size_t shared_bytes);

/// The antennas of each tile of cells, for one channel.
struct TileLists {
  std::vector<std::uint32_t> steps;       ///< [quad][tile] its first step
  std::vector<uint4> weights[kVersions];  ///< [step][part][re, im][lane]
  std::vector<std::uint16_t> antennas;    ///< [step][16]
};
TileLists make_tile_lists(const GridLists& lists, const MatrixPlan& plan, std::size_t n_ant);

}  // namespace apsyn::epic_fft
