// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <map>

#include "kernels/epic/fft/cuda/matrix/operands.cuh"
#include "kernels/epic/fft/cuda/matrix/plan.h"
#include "libcore/base/constants.h"

namespace apsyn::epic_fft {
namespace {

constexpr std::uint32_t kNoAntenna = 0x10000;

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

/// Appends the weights of a step: columns [antenna][row].
void append_weights(const std::array<Weights, kCells>& columns, int n_part, TileLists& to) {
  std::array<std::array<std::array<Rounding, 2>, kCells>, kCells> roundings{};
  for (int version = 0; version < versions_of(n_part); ++version) {
    std::array<Weights, kCells> rounded = columns;
    for (std::size_t k = 0; k < kCells && n_part == 1; ++k)
      for (std::size_t row = 0; row < kCells; ++row)
        rounded[k][row] = {roundings[k][row][0].next(columns[k][row].real()),
                           roundings[k][row][1].next(columns[k][row].imag())};
    for (int part = 0; part < n_part; ++part)
      for (const bool imaginary : {false, true})
        for (unsigned lane = 0; lane < 32; ++lane)
          to.weights[version].push_back(left_operand(lane, part, [&](std::size_t row, std::size_t k) {
            return imaginary ? rounded[k][row].imag() : rounded[k][row].real();
          }));
  }
}

}  // namespace

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
      append_weights(columns, plan.size.n_part, out);
    }
  }
  return out;
}

}  // namespace apsyn::epic_fft
