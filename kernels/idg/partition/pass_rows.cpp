// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/partition/pass_rows.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <utility>

#include "kernels/idg/partition/sub_tables.h"
#include "libcore/system/parallel.h"

namespace apsyn::idg {
namespace {

constexpr std::size_t kRowsOfPiece = 1 << 14;

/// work(piece, first row, end) by threads: a few, since waking more takes longer than the work.
template <class Work>
void for_rows(unsigned n_threads, std::size_t n_row, const Work& work) {
  constexpr unsigned kMaxThreads = 16;
  parallel_for(std::min(n_threads, kMaxThreads), (n_row + kRowsOfPiece - 1) / kRowsOfPiece,
               [&](std::size_t piece, unsigned) {
                 work(piece, piece * kRowsOfPiece, std::min(n_row, (piece + 1) * kRowsOfPiece));
               });
}

std::uint32_t largest_station(const GridBlock& block, std::size_t begin, std::size_t end) {
  const std::uint32_t* station = block.station.data();
  return begin == end ? 0 : *std::max_element(station + 2 * begin, station + 2 * end);
}

/// |w| in wavelengths beyond which no visibility belongs to a layer of the pass.
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
                                                       const LayerRange& layers, unsigned n_threads,
                                                       std::vector<std::uint32_t> memory) {
  if (layers.n == 0) return std::vector<std::uint32_t>();
  const std::size_t n_row = block.uvw_m.extent(0);
  const Reach reach = reach_of(cut_limits(plan, layers));
  if (block.station.size() == 0 || block.wavenumber.size() == 0 ||
      (reach.low == -INFINITY && reach.high == INFINITY))
    return std::nullopt;
  const auto [least, most] = std::minmax_element(block.wavenumber.begin(), block.wavenumber.end());
  const std::size_t n_pieces = (n_row + kRowsOfPiece - 1) / kRowsOfPiece;
  std::size_t n_station = largest_station(block, 0, std::min(n_row, kRowsOfPiece)) + std::size_t{1};
  std::vector<std::uint8_t> wanted;  // of baselines
  auto baseline = [&](std::size_t row) -> std::uint8_t& {
    return wanted[block.station(row, 0) * n_station + block.station(row, 1)];
  };
  // In most blocks the first rows contain all stations.
  for (std::atomic<bool> known = false; !known;) {
    known = true;
    wanted.assign(n_station * n_station, 0);
    for_rows(n_threads, n_row, [&](std::size_t, std::size_t begin, std::size_t end) {
      if (largest_station(block, begin, end) >= n_station) {
        known = false;
        return;
      }
      for (std::size_t row = begin; row < end; ++row) {
        // Storing it again would take the line of the baselines beside it from other threads.
        const std::atomic_ref own(baseline(row));
        if (own.load(std::memory_order_relaxed) != 0) continue;
        const double w_m = std::abs(block.uvw_m(row, 2));
        if (w_m * *most < reach.low || w_m * *least > reach.high)
          continue;  // NaN is for the cutter to refuse
        own.store(1, std::memory_order_relaxed);
      }
    });
    if (!known) n_station = largest_station(block, 0, n_row) + std::size_t{1};
  }
  std::vector<std::size_t> first(n_pieces + 1, 0);
  for_rows(n_threads, n_row, [&](std::size_t piece, std::size_t begin, std::size_t end) {
    std::size_t n = 0;
    for (std::size_t row = begin; row < end; ++row) n += baseline(row);
    first[piece + 1] = n;
  });
  std::partial_sum(first.begin(), first.end(), first.begin());
  if (first.back() == n_row) return std::nullopt;
  std::vector<std::uint32_t> rows = std::move(memory);
  rows.resize(first.back());
  for_rows(n_threads, n_row, [&](std::size_t piece, std::size_t begin, std::size_t end) {
    std::uint32_t *to = rows.data() + first[piece], *last = rows.data() + first[piece + 1];
    for (std::size_t row = begin; row < end && to != last; ++row) {
      *to = static_cast<std::uint32_t>(row);
      to += baseline(row);
    }
  });
  return rows;
}

}  // namespace apsyn::idg
