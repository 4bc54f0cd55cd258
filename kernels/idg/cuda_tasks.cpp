// SPDX-License-Identifier: GPL-3.0-or-later
#ifdef APSYN_CUDA
#include "kernels/idg/cuda_tasks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "kernels/idg/w_terms.h"

namespace apsyn::idg_cuda {
namespace {

/// Subgrids from the tensor cores err by 3e-6, images by 6e-6 at most as measured.
constexpr double kTensorAccuracy = 8e-6;

int wrap(std::int64_t index, std::size_t n) {
  const auto size = static_cast<std::int64_t>(n);
  return static_cast<int>((index % size + size) % size);
}

std::uint32_t bins_of(double half_w, double unit) {
  return unit > 0 ? static_cast<std::uint32_t>(std::max(1.0, std::ceil(half_w / unit * (1 - 1e-9)))) : 1;
}

/// Cycles of an SM, as measured on an H200.
double tensor_cost(bool four, double n_visibilities, double n_bins) {
  const double n_chunks = n_bins + n_visibilities / kChunkSlots;
  return (n_visibilities + n_bins * kSlotGroup / 2) * (four ? 57 : 47) + n_chunks * 700;
}

std::uint8_t choose_way(const Ways& ways, const SubgridTask& task) {
  if (ways.w_kernel) return 0;
  const auto n = static_cast<double>(task.n_visibilities);
  if (ways.tensor) {
    const std::uint32_t three = bins_of(task.half_w_lambda, ways.ways[0].w_unit_lambda),
                        four = bins_of(task.half_w_lambda, ways.ways[1].w_unit_lambda);
    return three <= kMostBins && tensor_cost(false, n, three) <= tensor_cost(true, n, four) ? 0 : 1;
  }
  std::uint8_t way = 0;
  while (way + 1u < ways.ways.size() && task.half_w_lambda <= ways.ways[way + 1].w_unit_lambda) ++way;
  return way;
}

}  // namespace

Ways make_ways(const IdgPlan& plan, bool has_tensor_cores) {
  Ways ways;
  if (plan.w_handling == WHandling::kernel) {
    ways.w_kernel = true;
    ways.ways.push_back({1.0, plan.n_terms});
    return ways;
  }
  const double turns = 2 * std::numbers::pi * plan.n_half_range, most_half_w = plan.most_task_half_w_lambda;
  ways.tensor = has_tensor_cores && plan.settings.precision == Precision::single &&
                plan.settings.accuracy >= kTensorAccuracy &&
                turns * most_half_w <= most_phi(TensorTerms::four) * (kMostBins - 1);
  if (ways.tensor) {
    for (TensorTerms terms : {TensorTerms::three, TensorTerms::four})
      ways.ways.push_back({turns > 0 ? most_phi(terms) / turns : 1.0, 1});
    return ways;
  }
  for (int halvings = 0; halvings < 5; ++halvings) {
    const double unit = most_half_w / (1 << halvings);
    const std::size_t n_terms = chebyshev_terms(turns * unit, plan.settings.accuracy / 8);
    if (halvings == 0 || n_terms < ways.ways.back().n_terms) ways.ways.push_back({unit, n_terms});
  }
  return ways;
}

TaskList list_tasks(const IdgPlan& plan, const Ways& ways, const Partition& parts) {
  const std::size_t n = parts.tasks.size();
  TaskList list;
  std::vector<std::uint8_t> way(n);
  for (std::size_t i = 0; i < n; ++i) way[i] = choose_way(ways, parts.tasks[i]);
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  if (!ways.tensor && ways.ways.size() > 1)
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return way[a] < way[b]; });
  list.tasks.reserve(n);
  const auto half_side = static_cast<std::int64_t>(plan.settings.subgrid / 2);
  for (std::uint32_t i : order) {
    const SubgridTask& task = parts.tasks[i];
    SlotTask out{};
    out.centre_u = static_cast<double>(task.centre_u);
    out.centre_v = static_cast<double>(task.centre_v);
    const double layer_w = plan.layer_w_lambda(task.layer);
    // The w kernel counts from the first layer, and its visibilities carry w whole.
    out.w_lambda = ways.w_kernel ? layer_w : task.w_lambda;
    out.half_w_lambda = ways.w_kernel ? 0 : task.half_w_lambda;
    out.layer_w_lambda = ways.w_kernel ? 0 : layer_w;
    out.w_unit_lambda = ways.ways[way[i]].w_unit_lambda;
    out.first_run = static_cast<std::uint32_t>(task.first_run);
    out.n_runs = static_cast<std::uint32_t>(task.n_runs);
    out.n_bins = ways.tensor ? bins_of(task.half_w_lambda, out.w_unit_lambda) : 1;
    out.first_slot = list.n_slots;
    out.n_slots = slots_of(static_cast<std::uint32_t>(task.n_visibilities), out.n_bins);
    out.first_chunk = list.n_chunks;
    out.n_chunks = chunks_of(out.n_slots, out.n_bins);
    list.n_slots += out.n_slots;
    list.n_chunks += out.n_chunks;
    list.tasks.push_back(out);
    list.way.push_back(way[i]);
    list.layer.push_back(task.layer);
    list.keys.push_back({task.station_p, task.station_q, task.row_slot, task.chan_slot, task.folded ? 1 : 0});
    list.screen_lambda.push_back(task.w_lambda - layer_w);
    list.placements.push_back(
        {wrap(task.centre_v - half_side, plan.n_v), wrap(task.centre_u - half_side, plan.n_u)});
    list.n_visibilities.push_back(static_cast<std::uint32_t>(task.n_visibilities));
  }
  return list;
}

TilePlacer::TilePlacer(const IdgPlan& plan, std::size_t n_outputs, const LayerRange& layers)
    : side_(plan.settings.subgrid),
      n_u_(plan.n_u),
      n_v_(plan.n_v),
      n_outputs_(n_outputs),
      tiles_u_(grid_tiles(plan.n_u)),
      tiles_v_(grid_tiles(plan.n_v)),
      layers_(layers),
      count_(layers.n * tiles_u_ * tiles_v_) {}

namespace {

/// Tiles that cells start .. start + side - 1 (mod n) fall into, each once.
template <class Visit>
void for_each_tile(std::size_t start, std::size_t side, std::size_t n, Visit visit) {
  const std::size_t n_tiles = grid_tiles(n), first = start / kGridTile;
  if (start + side <= n) {
    for (std::size_t tile = first; tile <= (start + side - 1) / kGridTile; ++tile) visit(tile);
    return;
  }
  const std::size_t last = (start + side - 1 - n) / kGridTile;
  for (std::size_t tile = 0; tile <= std::min(last, n_tiles - 1); ++tile) visit(tile);
  for (std::size_t tile = std::max(first, last + 1); tile < n_tiles; ++tile) visit(tile);
}

}  // namespace

void TilePlacer::place(const TaskList& list, const TaskRange& range, Overlaps& overlaps,
                       std::vector<bool>& layer_used) {
  auto for_each = [&](auto visit) {
    for (std::size_t i = 0; i < range.n; ++i) {
      const Placement& start = list.placements[range.first + i];
      for (std::size_t output = 0; output < n_outputs_; ++output) {
        const std::size_t layer = list.layer[range.first + i] + output;
        if (layer < layers_.first || layer >= layers_.first + layers_.n) continue;
        const std::size_t own = layer - layers_.first;
        layer_used[own] = true;
        for_each_tile(std::size_t(start.start_v), side_, n_v_, [&](std::size_t v) {
          for_each_tile(std::size_t(start.start_u), side_, n_u_, [&](std::size_t u) {
            visit((own * tiles_v_ + v) * tiles_u_ + u, static_cast<std::uint32_t>(i * n_outputs_ + output));
          });
        });
      }
    }
  };
  std::fill(count_.begin(), count_.end(), 0);
  for_each([&](std::size_t tile, std::uint32_t) { ++count_[tile]; });
  auto at = static_cast<std::uint32_t>(overlaps.entries.size());
  for (std::size_t tile = 0; tile < count_.size(); ++tile) {
    const std::uint32_t n = count_[tile];
    if (n > 0)
      overlaps.tiles.push_back({static_cast<int>(tile / tiles_u_ / tiles_v_),
                                static_cast<int>(tile / tiles_u_ % tiles_v_) * kGridTile,
                                static_cast<int>(tile % tiles_u_) * kGridTile, at, n});
    count_[tile] = at;
    at += n;
  }
  overlaps.entries.resize(at);
  for_each([&](std::size_t tile, std::uint32_t entry) { overlaps.entries[count_[tile]++] = entry; });
}

}  // namespace apsyn::idg_cuda
#endif
