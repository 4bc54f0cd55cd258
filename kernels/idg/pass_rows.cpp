// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/pass_rows.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "kernels/idg/sub_tables.h"
#include "libcore/core/parallel.h"

namespace apsyn::idg {
namespace {

constexpr std::size_t kRowsOfPiece = 1 << 14;

/// work(piece, first row, end) by threads: a few, since starting more takes longer than the work.
template <class Work>
void for_rows(unsigned n_threads, std::size_t n_row, const Work& work) {
  constexpr unsigned kMostThreads = 4;
  parallel_for(std::min(n_threads, kMostThreads), (n_row + kRowsOfPiece - 1) / kRowsOfPiece,
               [&](std::size_t piece, unsigned) {
                 work(piece, piece * kRowsOfPiece, std::min(n_row, (piece + 1) * kRowsOfPiece));
               });
}

/// |w| in wavelengths beyond which nothing is of a layer of the pass.
struct Reach {
  double low = -INFINITY, high = INFINITY;
};
Reach reach_of(const CutLimits& limits) {
  const double across = limits.layer_slack + 1e-6 * limits.layer_step;
  const std::uint32_t first = limits.first_layer - std::min(limits.first_layer, limits.reach - 1),
                      end = limits.first_layer + limits.n_layers;
  Reach reach;
  if (first > 0) reach.low = first * limits.layer_step - across;
  if (end <= limits.last_layer) reach.high = end * limits.layer_step + across;  // w beyond all is of the last
  return reach;
}

}  // namespace

std::optional<std::vector<std::uint32_t>> rows_of_pass(const IdgPlan& plan, const GridBlock& block,
                                                       const LayerRange& layers, unsigned n_threads) {
  if (layers.n == 0) return std::vector<std::uint32_t>();
  const std::size_t n_row = block.uvw_m.extent(0);
  const Reach reach = reach_of(cut_limits(plan, layers));
  if (block.station.size() == 0 || block.wavenumber.size() == 0 ||
      (reach.low == -INFINITY && reach.high == INFINITY))
    return std::nullopt;
  const auto [least, most] = std::minmax_element(block.wavenumber.begin(), block.wavenumber.end());
  const std::size_t n_pieces = (n_row + kRowsOfPiece - 1) / kRowsOfPiece;
  std::vector<std::uint32_t> stations(n_pieces, 0);
  for_rows(n_threads, n_row, [&](std::size_t piece, std::size_t begin, std::size_t end) {
    const std::uint32_t* station = block.station.data();
    stations[piece] = 1 + *std::max_element(station + 2 * begin, station + 2 * end);
  });
  const std::size_t n_station = n_row == 0 ? 0 : *std::max_element(stations.begin(), stations.end());
  std::vector<std::uint8_t> wanted(n_station * n_station, 0);  // of baselines
  auto baseline = [&](std::size_t row) -> std::uint8_t& {
    return wanted[block.station(row, 0) * n_station + block.station(row, 1)];
  };
  for_rows(n_threads, n_row, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const double w_m = std::abs(block.uvw_m(row, 2));
      if (w_m * *most < reach.low || w_m * *least > reach.high) continue;  // NaN is for the cutter to refuse
      std::atomic_ref(baseline(row)).store(1, std::memory_order_relaxed);
    }
  });
  std::vector<std::vector<std::uint32_t>> pieces(n_pieces);
  for_rows(n_threads, n_row, [&](std::size_t piece, std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row)
      if (baseline(row) != 0) pieces[piece].push_back(static_cast<std::uint32_t>(row));
  });
  std::vector<std::uint32_t> rows;
  for (const std::vector<std::uint32_t>& piece : pieces) rows.insert(rows.end(), piece.begin(), piece.end());
  if (rows.size() == n_row) return std::nullopt;
  return rows;
}

}  // namespace apsyn::idg
