// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/launch.cuh"
#include "kernels/idg/cuda/partition/tasks.cuh"

namespace apsyn::idg_cuda {
namespace {

struct TileShape {
  int tiles_u, tiles_v;
  int tile_bits;  ///< of (layer, v, u)
};

/// Tiles that cells start .. start + side - 1 (mod n) fall into, each once: from `begin` on, and where the
/// cells wrap around also those before `before`.
struct TileSpan {
  int begin, end, before;
  __device__ __forceinline__ int size() const { return end - begin + before; }
};
__device__ __forceinline__ TileSpan tiles_of(int start, int side, int n) {
  const int n_tiles = static_cast<int>(grid_tiles(n)), first = start / kGridTile;
  if (start + side <= n) return {first, (start + side - 1) / kGridTile + 1, 0};
  const int before = min((start + side - 1 - n) / kGridTile + 1, n_tiles);
  return {max(first, before), n_tiles, before};
}

/// Outputs of a task that lie in the pass: from `first` on.
__device__ __forceinline__ int outputs_in_pass(const ListPlan& plan, std::uint32_t layer, int& first) {
  const int from_pass = static_cast<int>(layer) - plan.first_layer;
  first = max(0, -from_pass);
  return max(0, min(plan.n_outputs, plan.n_layers - from_pass) - first);
}

__global__ void count_entries(ListPlan plan, const Placement* placements, const std::uint32_t* layer,
                              std::uint32_t n, std::uint32_t* n_entries) {
  const std::size_t i = this_thread();
  if (i >= n) return;
  int first;
  n_entries[i] = outputs_in_pass(plan, layer[i], first) *
                 tiles_of(placements[i].start_v, plan.side, plan.n_v).size() *
                 tiles_of(placements[i].start_u, plan.side, plan.n_u).size();
}

/// The range that task i belongs to.
__device__ __forceinline__ std::uint32_t range_of(const std::uint32_t* range_first, std::uint32_t n_ranges,
                                                  std::uint32_t i) {
  std::uint32_t low = 0, high = n_ranges;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    if (range_first[middle] <= i)
      low = middle;
    else
      high = middle;
  }
  return low;
}

__global__ void write_entries(ListPlan plan, TileShape shape, const Placement* placements,
                              const std::uint32_t* layer, std::uint32_t n, const std::uint32_t* range_first,
                              std::uint32_t n_ranges, const std::uint32_t* end_entry, std::uint64_t* keys,
                              std::uint32_t* values, std::uint32_t* layer_used) {
  const std::size_t i = this_thread();
  if (i >= n) return;
  int first_output;
  const int n_outputs = outputs_in_pass(plan, layer[i], first_output);
  const TileSpan span_v = tiles_of(placements[i].start_v, plan.side, plan.n_v),
                 span_u = tiles_of(placements[i].start_u, plan.side, plan.n_u);
  const std::uint32_t range = range_of(range_first, n_ranges, static_cast<std::uint32_t>(i));
  std::uint32_t at = i == 0 ? 0 : end_entry[i - 1];
  for (int output = first_output; output < first_output + n_outputs; ++output) {
    const int own = static_cast<int>(layer[i]) + output - plan.first_layer;
    layer_used[own] = 1;
    for (int iv = 0; iv < span_v.size(); ++iv) {
      const int v = iv < span_v.before ? iv : span_v.begin + iv - span_v.before;
      for (int iu = 0; iu < span_u.size(); ++iu, ++at) {
        const int u = iu < span_u.before ? iu : span_u.begin + iu - span_u.before;
        keys[at] = std::uint64_t(range) << shape.tile_bits |
                   (std::uint64_t(own) * shape.tiles_v + v) * shape.tiles_u + u;
        values[at] = (static_cast<std::uint32_t>(i) - range_first[range]) * plan.n_outputs + output;
      }
    }
  }
}

__global__ void order_entries(const std::uint64_t* keys, const std::uint32_t* order,
                              const std::uint32_t* values, std::uint32_t n, std::uint32_t* entries,
                              std::uint32_t* begins) {
  const std::size_t i = this_thread();
  if (i >= n) return;
  entries[i] = values[order[i]];
  begins[i] = i == 0 || keys[i] != keys[i - 1];
}

/// places: inclusive sums of what begins a tile.
__global__ void list_first_entries(const std::uint32_t* places, std::uint32_t n, std::uint32_t* first_entry) {
  const std::size_t i = this_thread();
  if (i >= n) return;
  if (i == 0 || places[i] != places[i - 1]) first_entry[places[i] - 1] = static_cast<std::uint32_t>(i);
  if (i == n - 1) first_entry[places[i]] = n;
}

__global__ void write_tiles(TileShape shape, const std::uint64_t* keys, const std::uint32_t* places,
                            const std::uint32_t* first_entry, std::uint32_t n, GridTile* tiles,
                            std::uint32_t* first_tile) {
  const std::size_t i = this_thread();
  if (i >= n || (i > 0 && places[i] == places[i - 1])) return;
  const std::uint32_t tile = places[i] - 1;
  const auto where = static_cast<std::uint32_t>(keys[i] & ((std::uint64_t{1} << shape.tile_bits) - 1));
  tiles[tile] = {static_cast<int>(where / shape.tiles_u / shape.tiles_v),
                 static_cast<int>(where / shape.tiles_u % shape.tiles_v) * kGridTile,
                 static_cast<int>(where % shape.tiles_u) * kGridTile, first_entry[tile],
                 first_entry[tile + 1] - first_entry[tile]};
  // Every range has entries: its tasks touch the pass.
  const auto range = static_cast<std::uint32_t>(keys[i] >> shape.tile_bits);
  if (i == 0 || keys[i - 1] >> shape.tile_bits != range) first_tile[range] = tile;
}

}  // namespace

void TaskLister::place(const ListPlan& plan, std::vector<RangeWork>& ranges, DeviceTasks& out) {
  const std::uint32_t n = out.n_tasks;
  const auto n_ranges = static_cast<std::uint32_t>(ranges.size());
  TileShape shape{static_cast<int>(grid_tiles(plan.n_u)), static_cast<int>(grid_tiles(plan.n_v)), 0};
  shape.tile_bits = bits_of(std::uint64_t(plan.n_layers) * shape.tiles_u * shape.tiles_v);
  std::uint32_t* ends = ends_.reserve(n);
  count_entries<<<blocks_of(n), kThreads, 0, stream_>>>(plan, out.placements.data(), out.layer.data(), n,
                                                        ends);
  launched("placing subgrids");
  sort_.inclusive_sum(ends, ends, n);
  const std::uint32_t n_entries = *read(ends + n - 1, 1);
  std::uint32_t* firsts = host(n_ranges + 1);
  for (std::uint32_t r = 0; r < n_ranges; ++r) firsts[r] = static_cast<std::uint32_t>(ranges[r].first);
  cuda_check(cudaMemcpyAsync(range_first_.reserve(n_ranges), firsts, n_ranges * sizeof(std::uint32_t),
                             cudaMemcpyHostToDevice, stream_),
             "placing subgrids");
  std::uint32_t* first_tile = bounds_.reserve(n_ranges + 1 + plan.n_layers);
  std::uint32_t* used = first_tile + n_ranges + 1;
  cuda_check(cudaMemsetAsync(used, 0, plan.n_layers * sizeof(std::uint32_t), stream_), "placing subgrids");
  sort_.begin(n_entries);
  std::uint32_t* values = values_.reserve(n_entries + 1);
  write_entries<<<blocks_of(n), kThreads, 0, stream_>>>(plan, shape, out.placements.data(), out.layer.data(),
                                                        n, range_first_.data(), n_ranges, ends,
                                                        sort_.keys(n_entries), values, used);
  launched("placing subgrids");
  sort_.by_keys(n_entries, shape.tile_bits + bits_of(n_ranges - 1));
  std::uint32_t* places = flags_.reserve(n_entries);
  order_entries<<<blocks_of(n_entries), kThreads, 0, stream_>>>(
      sort_.sorted_keys(), sort_.order(), values, n_entries, out.entries.reserve(n_entries), places);
  launched("placing subgrids");
  sort_.inclusive_sum(places, places, n_entries);
  std::uint32_t* first_entry = values;
  list_first_entries<<<blocks_of(n_entries), kThreads, 0, stream_>>>(places, n_entries, first_entry);
  launched("placing subgrids");
  // The number of tiles is the last of first_tile.
  cuda_check(cudaMemcpyAsync(first_tile + n_ranges, places + n_entries - 1, sizeof(std::uint32_t),
                             cudaMemcpyDeviceToDevice, stream_),
             "placing subgrids");
  write_tiles<<<blocks_of(n_entries), kThreads, 0, stream_>>>(
      shape, sort_.sorted_keys(), places, first_entry, n_entries, out.tiles.reserve(n_entries), first_tile);
  launched("placing subgrids");
  const std::uint32_t* bounds = read(first_tile, n_ranges + 1 + plan.n_layers);
  for (std::uint32_t r = 0; r < n_ranges; ++r) {
    ranges[r].first_tile = bounds[r];
    ranges[r].n_tiles = bounds[r + 1] - bounds[r];
  }
  const std::uint32_t* of_layers = bounds + n_ranges + 1;
  out.layer_used.assign(of_layers, of_layers + plan.n_layers);
}

}  // namespace apsyn::idg_cuda
