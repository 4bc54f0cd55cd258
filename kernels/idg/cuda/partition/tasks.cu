// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cuda/partition/tasks.cuh"

#include <algorithm>

#include "kernels/common/cuda/launch.cuh"

namespace apsyn::idg_cuda {
namespace {

using idg::SubTable;
using idg::SubTableCentre;

__device__ __forceinline__ std::uint32_t bins_of(double half_w, double unit) {
  return unit > 0 ? static_cast<std::uint32_t>(fmax(1.0, ceil(half_w / unit * (1 - 1e-9)))) : 1;
}

/// Cycles of an SM, as measured on an H200.
__device__ __forceinline__ double tensor_cost(bool four, double n_visibilities, double n_bins) {
  const double n_chunks = n_bins + n_visibilities / kChunkSlots;
  return (n_visibilities + n_bins * kSlotGroup / 2) * (four ? 57 : 47) + n_chunks * 700;
}

__device__ std::uint32_t choose_way(const ListPlan& plan, const SubTable& table, std::uint32_t n_places) {
  if (plan.w_kernel) return 0;
  const double half_w = centre_of(table.box).half_w_lambda;
  if (plan.tensor) {
    const std::uint32_t three = bins_of(half_w, plan.w_unit_lambda[0]),
                        four = bins_of(half_w, plan.w_unit_lambda[1]);
    const double n = n_places;
    return three <= kMaxBins && tensor_cost(false, n, three) <= tensor_cost(true, n, four) ? 0 : 1;
  }
  std::uint32_t expansion = 0;
  while (expansion + 1 < plan.n_ways && half_w <= plan.w_unit_lambda[expansion + 1]) ++expansion;
  return expansion;
}

__device__ __forceinline__ std::uint32_t bins_of(const ListPlan& plan, const SubTable& table,
                                                 std::uint32_t expansion) {
  return plan.tensor ? bins_of(centre_of(table.box).half_w_lambda, plan.w_unit_lambda[expansion]) : 1;
}

__global__ void way_keys(ListPlan plan, const SubTable* tables, std::uint32_t n, std::uint64_t* keys) {
  const std::size_t i = this_thread();
  if (i < n) keys[i] = choose_way(plan, tables[i], tables[i].n_visibilities);
}

__global__ void measure(ListPlan plan, TableContents contents, const std::uint32_t* order, std::uint32_t n,
                        std::uint32_t* expansion, std::uint32_t* n_slots, std::uint32_t* n_chunks) {
  const std::size_t i = this_thread();
  if (i >= n) return;
  const SubTable& table = contents.tables[order[i]];
  const std::uint32_t n_places = contents.n_places(order[i]);
  expansion[i] = choose_way(plan, table, n_places);
  const std::uint32_t n_bins = bins_of(plan, table, expansion[i]);
  n_slots[i] = slots_of(n_places, n_bins);
  n_chunks[i] = chunks_of(n_slots[i], n_bins);
}

__device__ __forceinline__ int wrap(long long index, int n) {
  return static_cast<int>((index % n + n) % n);
}

/// end_slot, end_chunk: inclusive sums.
__global__ void describe(ListPlan plan, TableContents contents, const std::uint32_t* order, std::uint32_t n,
                         const std::uint32_t* expansion, const std::uint32_t* end_slot,
                         const std::uint32_t* end_chunk, SlotTask* tasks, AtermKey* keys,
                         double* screen_lambda, Placement* placements, std::uint32_t* layer) {
  const std::size_t i = this_thread();
  if (i >= n) return;
  const SubTable& table = contents.tables[order[i]];
  const SubTableCentre centre = centre_of(table.box);
  const double layer_w = plan.first_layer_lambda + table.layer * plan.layer_step_lambda;
  SlotTask out{};
  out.centre_u = static_cast<double>(centre.u);
  out.centre_v = static_cast<double>(centre.v);
  // The w kernel counts from the first layer, and its visibilities carry w whole.
  out.w_lambda = plan.w_kernel ? layer_w : centre.w_lambda;
  out.half_w_lambda = plan.w_kernel ? 0 : centre.half_w_lambda;
  out.layer_w_lambda = plan.w_kernel ? 0 : layer_w;
  out.w_unit_lambda = plan.w_unit_lambda[expansion[i]];
  out.first_run = contents.first_row(order[i]);
  out.n_runs = contents.n_rows(order[i]);
  out.n_bins = bins_of(plan, table, expansion[i]);
  out.first_slot = i == 0 ? 0 : end_slot[i - 1];
  out.n_slots = end_slot[i] - out.first_slot;
  out.first_chunk = i == 0 ? 0 : end_chunk[i - 1];
  out.n_chunks = end_chunk[i] - out.first_chunk;
  tasks[i] = out;
  keys[i] = table.aterms;
  screen_lambda[i] = centre.w_lambda - layer_w;
  placements[i] = {wrap(centre.v - plan.side / 2, plan.n_v), wrap(centre.u - plan.side / 2, plan.n_u)};
  layer[i] = table.layer;
}

constexpr std::uint32_t kLongest = (1u << 14) - 1;

/// By range, expansion and falling number of places.
__global__ void select_keys(TableContents contents, const std::uint32_t* order,
                            const std::uint32_t* expansion, std::uint32_t n, std::uint32_t range_tasks,
                            std::uint64_t* keys) {
  const std::size_t i = this_thread();
  if (i < n)
    keys[i] = (std::uint64_t(i / range_tasks) * 2 + expansion[i]) * (kLongest + 1) + kLongest -
              min(contents.n_places(order[i]), kLongest);
}

/// bounds[k]: the first of the sorted keys that is k steps or more.
__global__ void find_bounds(const std::uint64_t* keys, std::uint32_t n, std::uint64_t step,
                            std::uint32_t n_bounds, std::uint32_t* bounds) {
  const std::size_t k = this_thread();
  if (k >= n_bounds) return;
  std::uint32_t low = 0, high = n;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (keys[middle] < k * step)
      low = middle + 1;
    else
      high = middle;
  }
  bounds[k] = low;
}

__global__ void count_in_range(const std::uint32_t* order, std::uint32_t n, std::uint32_t range_tasks,
                               std::uint32_t* selected) {
  const std::size_t i = this_thread();
  if (i < n) selected[i] = order[i] % range_tasks;
}

}  // namespace

std::uint32_t* TaskLister::host(std::size_t n) {
  if (host_size_ < n) {
    host_ = pinned<std::uint32_t>(n + n / 4);
    host_size_ = n + n / 4;
  }
  return host_.get();
}

std::uint32_t* TaskLister::read(const std::uint32_t* values, std::size_t n) {
  std::uint32_t* to = host(n);
  cuda_check(cudaMemcpyAsync(to, values, n * sizeof(std::uint32_t), cudaMemcpyDeviceToHost, stream_),
             "reading lists of subgrids");
  cuda_check(cudaStreamSynchronize(stream_), "listing subgrids");
  return to;
}

std::vector<RangeWork> TaskLister::list(const ListPlan& plan, const idg::DeviceTables& tables,
                                        const RangeLimits& limits, DeviceTasks& out,
                                        const DeviceTracks* tracks) {
  const std::uint32_t n = tables.n_tables;
  const TableContents contents = contents_of(tables, tracks);
  out.n_tasks = n;
  const SubTable* from = tables.tables.data();
  sort_.begin(n);
  if (!plan.tensor && plan.n_ways > 1) {
    way_keys<<<blocks_of(n), kThreads, 0, stream_>>>(plan, from, n, sort_.keys(n));
    launched("listing subgrids");
    sort_.by_keys(n, 3);
  }
  std::uint32_t *expansion = way_.reserve(n), *end_slot = end_slot_.reserve(n),
                *end_chunk = end_chunk_.reserve(n);
  measure<<<blocks_of(n), kThreads, 0, stream_>>>(plan, contents, sort_.order(), n, expansion, end_slot,
                                                  end_chunk);
  launched("listing subgrids");
  sort_.inclusive_sum(end_slot, end_slot, n);
  sort_.inclusive_sum(end_chunk, end_chunk, n);
  describe<<<blocks_of(n), kThreads, 0, stream_>>>(
      plan, contents, sort_.order(), n, expansion, end_slot, end_chunk, out.tasks.reserve(n),
      out.keys.reserve(n), out.screen_lambda.reserve(n), out.placements.reserve(n), out.layer.reserve(n));
  launched("listing subgrids");
  out.n_chunks = *read(end_chunk + n - 1, 1);
  out.n_slots = *read(end_slot + n - 1, 1);
  std::vector<RangeWork> ranges = make_ranges(plan, limits, n);
  if (plan.tensor) {
    const auto range_tasks = static_cast<std::uint32_t>(limits.tasks);
    const auto n_bounds = static_cast<std::uint32_t>(2 * ranges.size() + 1);
    select_keys<<<blocks_of(n), kThreads, 0, stream_>>>(contents, sort_.order(), expansion, n, range_tasks,
                                                        sort_.keys(n));
    launched("ordering subgrids");
    sort_.by_keys(n, bits_of(n_bounds) + 14);
    find_bounds<<<blocks_of(n_bounds), kThreads, 0, stream_>>>(sort_.sorted_keys(), n, kLongest + 1, n_bounds,
                                                               bounds_.reserve(n_bounds));
    launched("ordering subgrids");
    count_in_range<<<blocks_of(n), kThreads, 0, stream_>>>(sort_.order(), n, range_tasks,
                                                           out.selected.reserve(n));
    launched("ordering subgrids");
    const std::uint32_t* bounds = read(bounds_.data(), n_bounds);
    for (std::size_t k = 0; k + 1 < n_bounds; ++k) {
      ranges[k / 2].first_selected[k % 2] = bounds[k];
      ranges[k / 2].n_selected[k % 2] = bounds[k + 1] - bounds[k];
    }
  }
  return ranges;
}

std::vector<TaskPlace> TaskLister::places(const DeviceTasks& tasks) {
  static_assert(sizeof(Placement) == 2 * sizeof(std::uint32_t));
  const std::size_t n = tasks.n_tasks;
  std::vector<TaskPlace> places(n);
  const std::uint32_t* values = read(tasks.layer.data(), n);
  for (std::size_t i = 0; i < n; ++i) places[i].layer = values[i];
  values = read(reinterpret_cast<const std::uint32_t*>(tasks.placements.data()), 2 * n);
  for (std::size_t i = 0; i < n; ++i) {
    places[i].start_v = values[2 * i];
    places[i].start_u = values[2 * i + 1];
  }
  return places;
}

std::vector<RangeWork> TaskLister::make_ranges(const ListPlan& plan, const RangeLimits& limits,
                                               std::uint32_t n) {
  std::vector<RangeWork> ranges;
  if (plan.tensor) {
    for (std::size_t first = 0; first < n; first += limits.tasks) {
      RangeWork& work = ranges.emplace_back();
      work.first = first;
      work.n = std::min<std::size_t>(limits.tasks, n - first);
    }
    return ranges;
  }
  std::uint32_t* values = read(end_slot_.data(), n);
  const std::vector<std::uint32_t> end_slot(values, values + n);
  const std::uint32_t* expansion = read(way_.data(), n);
  for (std::size_t first = 0; first < n;) {
    RangeWork work;
    work.first = first;
    work.expansion = expansion[first];
    work.first_slot = first == 0 ? 0 : end_slot[first - 1];
    const std::size_t max_slots = limits.slots[work.expansion];
    do ++work.n;
    while (work.n < limits.tasks && first + work.n < n && expansion[first + work.n] == work.expansion &&
           end_slot[first + work.n] - work.first_slot <= max_slots);
    first += work.n;
    work.n_slots = end_slot[first - 1] - work.first_slot;
    ranges.push_back(work);
  }
  return ranges;
}

}  // namespace apsyn::idg_cuda
