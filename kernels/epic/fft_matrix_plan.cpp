// SPDX-License-Identifier: GPL-3.0-or-later
#ifdef APSYN_CUDA
#include "kernels/epic/fft_matrix_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <map>

#include "kernels/common/halves.cuh"
#include "libcore/core/constants.h"

namespace apsyn::epic_fft {
namespace {

/// Of blocks, and what a spectrum costs one.
struct MatrixShape {
  int rows, n;
  double cost;
};
constexpr std::array kMatrixShapes{MatrixShape{2, 1, 9}, MatrixShape{2, 2, 12}, MatrixShape{1, 2, 8}};
constexpr double kLargestHalf = 60000;
constexpr std::uint32_t kNoAntenna = 0x10000;
constexpr std::size_t kCells = 16;  ///< of a step, and rows of a left operand

std::size_t over(std::size_t n, std::size_t by) {
  return (n + by - 1) / by;
}

/// Two numbers as words of each part.
void append_halves(float first, float second, int part, std::uint32_t& to) {
  to = part == 0 ? Halves<1>(first, second).part[0] : Halves<2>(first, second).part[1];
}

/// A lane's share of a left operand: at(row, column) of 16 x 16.
template <class At>
uint4 left_operand(unsigned lane, int part, const At& at) {
  const unsigned g = lane / 4, t = lane % 4;
  uint4 out;
  const auto pair = [&](unsigned row, unsigned column, std::uint32_t& to) {
    append_halves(static_cast<float>(at(row, column)), static_cast<float>(at(row, column + 1)), part, to);
  };
  pair(g, 2 * t, out.x);
  pair(g + 8, 2 * t, out.y);
  pair(g, 2 * t + 8, out.z);
  pair(g + 8, 2 * t + 8, out.w);
  return out;
}
/// Of a right one: at(row, column) of 16 x 8.
template <class At>
uint2 right_operand(unsigned lane, int part, const At& at) {
  const unsigned g = lane / 4, t = lane % 4;
  uint2 out;
  append_halves(static_cast<float>(at(2 * t, g)), static_cast<float>(at(2 * t + 1, g)), part, out.x);
  append_halves(static_cast<float>(at(2 * t + 8, g)), static_cast<float>(at(2 * t + 9, g)), part, out.y);
  return out;
}

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

void fill_row_table(MatrixPlan& plan) {
  const auto rows = static_cast<std::size_t>(plan.size.rows);
  for (int piece = 0; piece < plan.pieces_y; ++piece)
    for (int part = 0; part < plan.size.n_part; ++part)
      for (const bool odd : {false, true})
        for (std::size_t row = 0; row < rows; ++row)
          for (int step = 0; step < plan.size.steps_y; ++step)
            for (unsigned lane = 0; lane < 32; ++lane)
              plan.row_table.push_back(left_operand(lane, part, [&](std::size_t m, std::size_t k) {
                return wave(odd, cell_of_row(static_cast<std::size_t>(step), k),
                            (static_cast<std::size_t>(piece) * rows + row) * kCells + m, plan.bins_y.n);
              }));
}

void fill_column_table(MatrixPlan& plan) {
  for (int tile = 0; tile < plan.pieces_x * warp_columns(plan.size); ++tile)
    for (int part = 0; part < plan.size.n_part; ++part)
      for (const bool odd : {false, true})
        for (int step = 0; step < plan.size.steps_x; ++step)
          for (int n = 0; n < plan.size.n; ++n)
            for (unsigned lane = 0; lane < 32; ++lane)
              plan.column_table.push_back(right_operand(lane, part, [&](std::size_t k, std::size_t l) {
                return wave(odd, static_cast<std::size_t>(step) * kCells + k,
                            static_cast<std::size_t>(tile * plan.size.n + n) * 8 + l, plan.bins_x.n);
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

using Weights = std::array<std::complex<double>, kCells>;  ///< of an antenna in a tile
using TileAntennas = std::map<std::uint32_t, Weights>;

/// The antennas of a tile in steps of 16, so that the eight whose samples are read at once are in different
/// banks where that can be. What fills up is in a bank of its own and has no weight.
std::vector<std::uint32_t> spread_over_banks(const TileAntennas& tile) {
  constexpr std::size_t kBanks = 8;
  std::array<std::vector<std::uint32_t>, kBanks> left;
  for (const auto& [ant, weights] : tile) left[ant % kBanks].push_back(ant);
  std::vector<std::uint32_t> order;
  const auto largest = [&](const std::array<bool, kBanks>& taken) {
    std::size_t best = kBanks;
    for (std::size_t bank = 0; bank < kBanks; ++bank)
      if (!taken[bank] && !left[bank].empty() && (best == kBanks || left[bank].size() > left[best].size()))
        best = bank;
    return best;
  };
  for (std::size_t n_octet = over(tile.size(), kCells) * 2, n_left = tile.size(); n_octet > 0; --n_octet) {
    std::array<bool, kBanks> taken{};
    for (std::size_t i = 0; i < kBanks; ++i) {
      std::size_t bank = largest(taken);
      if (bank == kBanks && n_left > (n_octet - 1) * kBanks) bank = largest({});
      if (bank == kBanks) {
        bank = static_cast<std::size_t>(std::find(taken.begin(), taken.end(), false) - taken.begin());
        order.push_back(kNoAntenna + static_cast<std::uint32_t>(bank));
      } else {
        order.push_back(left[bank].back());
        left[bank].pop_back();
        --n_left;
      }
      taken[bank] = true;
    }
  }
  return order;
}

/// A cell from the middle of n: 1/2, 3/2, ... or -1/2, ...
struct FoldedCell {
  std::size_t at;
  bool below;
  double place() const { return (below ? -1 : 1) * (static_cast<double>(at) + 0.5); }
};
FoldedCell fold(std::size_t cell, std::size_t n) {
  const std::size_t middle = (n + 1) / 2;
  if (cell >= middle) return {cell - middle, false};
  return {middle - 1 - cell, true};
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

std::optional<MatrixPlan> plan_matrix(const EpicPlan& plan, const FftGridded& gridded, int n_part,
                                      std::size_t shared_bytes) {
  if (fft_values(plan) == 1 || plan.n_ant > 65535) return {};
  std::size_t rows = 1, columns = 1;
  for (const GridLists& lists : gridded.lists) {
    rows = std::max(rows, (lists.n_row + 1) / 2);
    columns = std::max(columns, (lists.n_column + 1) / 2);
  }
  if (std::max(rows, columns) > kCells * kMostSteps) return {};
  MatrixPlan out;
  out.bins_x = FoldedBins(gridded.finish.bins_x(), gridded.grid.x.n);
  out.bins_y = FoldedBins(gridded.finish.bins_y(), gridded.grid.y.n);
  out.size.n_part = n_part;
  out.size.steps_y = static_cast<int>(over(rows, kCells));
  out.size.steps_x = static_cast<int>(over(columns, kCells));
  out.quads_y = static_cast<int>(over(rows, kTileY));
  out.quads_x = static_cast<int>(over(columns, kTileX));
  double least = 0;
  for (const MatrixShape& shape : kMatrixShapes) {
    const MatrixSize size{out.size.steps_y, out.size.steps_x, shape.rows, shape.n, n_part};
    if (!matrix_fits(size, 1) || matrix_shared_bytes(size, 1) > shared_bytes) continue;
    const auto warp_rows = static_cast<std::size_t>(shape.rows);
    const std::size_t warp_pixels = 8 * static_cast<std::size_t>(shape.n);
    const std::size_t pieces_y = over(out.bins_y.pairs, warp_rows * kCells);
    const std::size_t pieces_x = over(out.bins_x.pairs, kMatrixWarps / warp_rows * warp_pixels);
    const double cost = static_cast<double>(pieces_y * pieces_x) * shape.cost;
    if (least > 0 && !(cost < least)) continue;
    least = cost;
    out.size = size;
    out.pieces_y = static_cast<int>(pieces_y);
    out.pieces_x = static_cast<int>(pieces_x);
  }
  if (!(least > 0)) return {};
  const auto n_piece = static_cast<std::size_t>(out.pieces_x) * static_cast<std::size_t>(out.pieces_y);
  if (n_piece * out.piece_sums() > UINT32_MAX) return {};  // place_of() goes to the device in 32 bits
  out.weight_scale = scale_of_weights(gridded);
  for (std::size_t channel = 0; channel < gridded.lists.size(); ++channel) {
    const double gain = grid_gain(plan, gridded.lists[channel], channel) * out.weight_scale;
    out.channel_scale.push_back(gain > 0 ? scale_below(kLargestHalf / gain) : 1.0f);
  }
  fill_row_table(out);
  fill_column_table(out);
  return out;
}

TileLists make_tile_lists(const GridLists& lists, const MatrixPlan& plan, std::size_t n_ant) {
  const auto quads_x = static_cast<std::size_t>(plan.quads_x),
             quads_y = static_cast<std::size_t>(plan.quads_y);
  std::vector<TileAntennas> tiles(quads_x * quads_y * 4);  // [quad][tile]
  const auto middle = [](const FoldedBins& bins) {
    return (static_cast<double>(bins.middle) - 0.5) / static_cast<double>(bins.n);
  };
  for (std::size_t row = 0; row < lists.rows.size(); ++row)
    for (std::size_t i = lists.row_begin[row]; i < lists.row_begin[row + 1]; ++i) {
      const GridCell& cell = lists.cells[i];
      const FoldedCell y = fold(lists.rows[row], lists.n_row), x = fold(cell.column, lists.n_column);
      const double turns = y.place() * middle(plan.bins_y) + x.place() * middle(plan.bins_x);
      const auto turn = std::polar(static_cast<double>(plan.weight_scale), -kTwoPi * turns);
      auto& tile = tiles[(y.at / kTileY * quads_x + x.at / kTileX) * 4 + y.below * 2u + x.below];
      // rows of the operand: (x, y) of y = 0 .. 3, then of y = 4 .. 7
      const std::size_t at = y.at % kTileY / 4 * 8 + x.at % kTileX * 4 + y.at % 4;
      for (std::size_t e = cell.begin; e < lists.cells[i + 1].begin; ++e) {
        const GridEntry& from = lists.entries[e];
        tile[from.ant][at] += turn * std::complex<double>(from.re, from.im);
      }
    }
  TileLists out;
  for (const auto& tile : tiles) {
    out.steps.push_back(static_cast<std::uint32_t>(out.antennas.size() / kCells));
    const std::vector<std::uint32_t> order = spread_over_banks(tile);
    for (std::size_t first = 0; first < order.size(); first += kCells) {
      std::array<Weights, kCells> columns{};  // [antenna][row]
      for (std::size_t k = 0; k < kCells; ++k) {
        const std::uint32_t ant = order[first + k];
        if (ant < kNoAntenna) columns[k] = tile.at(ant);
        out.antennas.push_back(
            static_cast<std::uint16_t>(ant < kNoAntenna ? ant : (ant - kNoAntenna) % n_ant));
      }
      for (int part = 0; part < plan.size.n_part; ++part)
        for (const bool imaginary : {false, true})
          for (unsigned lane = 0; lane < 32; ++lane)
            out.weights.push_back(left_operand(lane, part, [&](std::size_t r, std::size_t k) {
              return imaginary ? columns[k][r].imag() : columns[k][r].real();
            }));
    }
  }
  return out;
}

}  // namespace apsyn::epic_fft
#endif
