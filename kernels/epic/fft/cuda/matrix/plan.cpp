// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/fft/cuda/matrix/plan.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/epic/fft/cuda/matrix/operands.cuh"
#include "libcore/base/constants.h"

namespace apsyn::epic_fft {
namespace {

/// A shape of blocks, and the cost of a spectrum for a block.
struct MatrixShape {
  int rows, n;
  double cost;
};
constexpr std::array kMatrixShapes{MatrixShape{2, 1, 9}, MatrixShape{2, 2, 12}, MatrixShape{1, 2, 8}};
constexpr double kLargestHalf = 60000;

/// cos or sin(2 pi (cell + 1/2) (pair + 1/2) / n).
double wave(bool odd, std::size_t cell, std::size_t pair, std::size_t n) {
  const std::size_t four = (2 * cell + 1) * (2 * pair + 1) % (4 * n);  // quarters of 1 / n turns
  const double angle = kTwoPi * static_cast<double>(four) / static_cast<double>(4 * n);
  return odd ? std::sin(angle) : std::cos(angle);
}

/// y > 0 of row k of a step: those of a tile stand in pairs (y, y + 4).
std::size_t cell_of_row(std::size_t step, std::size_t k) {
  return step * kCells + k / 8 * 8 + k / 2 % 4 + k % 2 * 4;
}

/// A value in one version of a table of n_part parts.
double in_version(double value, int version, int n_part) {
  if (n_part > 1) return value;
  Rounding rounding;
  for (int i = 0; i < version; ++i) rounding.next(value);
  return rounding.next(value);
}

void fill_row_table(MatrixPlan& plan, int version) {
  const auto rows = static_cast<std::size_t>(plan.size.rows);
  for (int piece = 0; piece < plan.pieces_y; ++piece)
    for (int part = 0; part < plan.size.n_part; ++part)
      for (const bool odd : {false, true})
        for (std::size_t row = 0; row < rows; ++row)
          for (int step = 0; step < plan.size.steps_y; ++step)
            for (unsigned lane = 0; lane < 32; ++lane)
              plan.row_table.push_back(left_operand(lane, part, [&](std::size_t m, std::size_t k) {
                const double value =
                    wave(odd, cell_of_row(static_cast<std::size_t>(step), k),
                         (static_cast<std::size_t>(piece) * rows + row) * kCells + m, plan.bins_y.n);
                return in_version(value, version, plan.size.n_part);
              }));
}

void fill_column_table(MatrixPlan& plan, int version) {
  for (int tile = 0; tile < plan.pieces_x * warp_columns(plan.size); ++tile)
    for (int part = 0; part < plan.size.n_part; ++part)
      for (const bool odd : {false, true})
        for (int step = 0; step < plan.size.steps_x; ++step)
          for (int n = 0; n < plan.size.n; ++n)
            for (unsigned lane = 0; lane < 32; ++lane)
              plan.column_table.push_back(right_operand(lane, part, [&](std::size_t k, std::size_t l) {
                const double value =
                    wave(odd, static_cast<std::size_t>(step) * kCells + k,
                         static_cast<std::size_t>(tile * plan.size.n + n) * 8 + l, plan.bins_x.n);
                return in_version(value, version, plan.size.n_part);
              }));
}

/// A power of 2, so that codes stay what they are: rounded, they would turn all images brighter or fainter.
float scale_below(double largest) {
  return static_cast<float>(std::exp2(std::floor(std::log2(largest))));
}

float scale_of_weights(const FftGridded& gridded) {
  double largest = 0;
  for (const GridLists& lists : gridded.lists)
    for (const GridEntry& entry : lists.entries)
      largest = std::max<double>(largest, std::hypot(entry.re, entry.im));
  return largest > 0 ? std::exp2(-static_cast<float>(std::ilogb(largest))) : 1.0f;
}

}  // namespace

FoldedBins::FoldedBins(const std::vector<std::size_t>& bins, std::size_t length) : n(length) {
  std::int64_t low = 0, high = 0;
  for (const std::size_t bin : bins) {
    low = std::min(low, around_zero(bin));
    high = std::max(high, around_zero(bin));
  }
  pairs = static_cast<std::size_t>(high - low + 2) / 2;
  middle = low + static_cast<std::int64_t>(pairs);
}

std::int64_t FoldedBins::around_zero(std::size_t bin) const {
  const auto at = static_cast<std::int64_t>(bin), all = static_cast<std::int64_t>(n);
  return 2 * at >= all ? at - all : at;
}

FoldedBins::Place FoldedBins::place(std::size_t bin) const {
  const std::int64_t off = around_zero(bin) - middle;
  return off >= 0 ? Place{static_cast<std::size_t>(off), false}
                  : Place{static_cast<std::size_t>(-1 - off), true};
}

std::size_t MatrixPlan::place_of(std::size_t bin_x, std::size_t bin_y, std::size_t value) const {
  const auto [x, below_x] = bins_x.place(bin_x);
  const auto [y, below_y] = bins_y.place(bin_y);
  const auto kn = static_cast<std::size_t>(size.n), of_warp = 8 * kn;
  const auto across = static_cast<std::size_t>(warp_columns(size)), of_piece = of_warp * across;
  const auto rows = static_cast<std::size_t>(size.rows);
  const std::size_t piece = y / (rows * kCells) * static_cast<std::size_t>(pieces_x) + x / of_piece;
  const std::size_t warp = y / kCells % rows * across + x % of_piece / of_warp;
  const std::size_t row = y % kCells, column = x % 8;
  const std::size_t thread = warp * 32 + row % 8 * 4 + column / 2;
  const std::size_t element = row / 8 * 2 + column % 2;
  const std::size_t sum = (((below_y * 2 + below_x) * kn + x / 8 % kn) * 4 + element) * 4 + value;
  return piece * piece_sums() + sum * kMatrixThreads + thread;
}

int MatrixBlocks::n_part(std::size_t n_channel, int n_sm) const {
  return std::max(1, n_sm / static_cast<int>(n_channel * n_piece()));
}

std::optional<MatrixBlocks> choose_matrix_blocks(std::size_t rows, std::size_t columns, std::size_t pairs_y,
                                                 std::size_t pairs_x, int n_part, std::size_t shared_bytes) {
  if (std::max(rows, columns) > kCells * kMaxSteps) return {};
  std::optional<MatrixBlocks> best;
  double least = 0;
  for (const MatrixShape& shape : kMatrixShapes) {
    const MatrixSize size{static_cast<int>(over(rows, kCells)), static_cast<int>(over(columns, kCells)),
                          shape.rows, shape.n, n_part};
    if (!matrix_fits(size, 1) || matrix_shared_bytes(size, 1) > shared_bytes) continue;
    const auto warp_rows = static_cast<std::size_t>(shape.rows);
    const std::size_t warp_pixels = 8 * static_cast<std::size_t>(shape.n);
    const std::size_t pieces_y = over(pairs_y, warp_rows * kCells);
    const std::size_t pieces_x = over(pairs_x, kMatrixWarps / warp_rows * warp_pixels);
    const double cost = static_cast<double>(pieces_y * pieces_x) * shape.cost;
    if (best && !(cost < least)) continue;
    least = cost;
    best = {size, static_cast<int>(pieces_x), static_cast<int>(pieces_y)};
  }
  return best;
}

std::optional<MatrixPlan> plan_matrix(const EpicPlan& plan, const FftGridded& gridded, int n_part,
                                      std::size_t shared_bytes) {
  if (fft_values(plan) == 1 || plan.n_ant > 65535) return {};
  std::size_t rows = 1, columns = 1;
  for (const GridLists& lists : gridded.lists) {
    rows = std::max(rows, (lists.n_row + 1) / 2);
    columns = std::max(columns, (lists.n_column + 1) / 2);
  }
  MatrixPlan out;
  out.bins_x = FoldedBins(gridded.finish.bins_x(), gridded.grid.x.n);
  out.bins_y = FoldedBins(gridded.finish.bins_y(), gridded.grid.y.n);
  const auto blocks =
      choose_matrix_blocks(rows, columns, out.bins_y.pairs, out.bins_x.pairs, n_part, shared_bytes);
  if (!blocks) return {};
  static_cast<MatrixBlocks&>(out) = *blocks;
  out.quads_y = static_cast<int>(over(rows, kTileY));
  out.quads_x = static_cast<int>(over(columns, kTileX));
  if (out.n_piece() * out.piece_sums() > UINT32_MAX) return {};  // place_of() goes to the device in 32 bits
  out.weight_scale = scale_of_weights(gridded);
  for (std::size_t channel = 0; channel < gridded.lists.size(); ++channel) {
    const double gain = grid_gain(plan, gridded.lists[channel], channel) * out.weight_scale;
    out.channel_scale.push_back(gain > 0 ? scale_below(kLargestHalf / gain) : 1.0f);
  }
  for (int version = 0; version < versions_of(n_part); ++version) {
    fill_row_table(out, version);
    fill_column_table(out, version);
  }
  return out;
}

}  // namespace apsyn::epic_fft
