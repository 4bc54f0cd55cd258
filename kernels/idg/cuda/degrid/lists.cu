// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cuda/degrid/lists.cuh"

#include <algorithm>

#include "kernels/common/cuda/launch.cuh"

namespace apsyn::idg_degrid {
namespace {

using idg::SubTable;
using idg::SubTableCentre;
using idg_cuda::NodeRow;
using idg_cuda::TableContents;

__device__ __forceinline__ int wrap(long long index, int n) {
  return static_cast<int>((index % n + n) % n);
}

__device__ __forceinline__ Sum choose_sum(const DegridListPlan& plan, double half_w_lambda) {
  return half_w_lambda <= plan.max_half_w_tensor        ? Sum::tensor
         : half_w_lambda <= plan.max_half_w_first_order ? Sum::tensor_first_order
                                                        : Sum::direct;
}

struct UnitCounts {
  std::uint32_t* n[kSums];  ///< [task]
};

__global__ void describe(DegridListPlan plan, TableContents contents, std::uint32_t n, Task* tasks,
                         std::uint32_t* n_visibilities, UnitCounts units, std::uint32_t* n_tensor) {
  const std::size_t i = this_thread();
  if (i >= n) return;
  const SubTable& table = contents.tables[i];
  const SubTableCentre centre = centre_of(table.box);
  Task out{};
  out.centre_u = static_cast<double>(centre.u);
  out.centre_v = static_cast<double>(centre.v);
  out.w_lambda = centre.w_lambda;
  out.half_w_lambda = centre.half_w_lambda;
  out.layer_w_lambda = plan.first_layer_lambda + table.layer * plan.layer_step_lambda;
  out.start_u = wrap(centre.u - plan.side / 2, plan.n_u);
  out.start_v = wrap(centre.v - plan.side / 2, plan.n_v);
  out.layer = static_cast<int>(table.layer) - plan.first_layer;
  out.aterms = table.aterms;
  tasks[i] = out;
  const std::uint32_t n_places = contents.n_places(static_cast<std::uint32_t>(i));
  n_visibilities[i] = n_places;
  const Sum sum = choose_sum(plan, centre.half_w_lambda);
#pragma unroll
  for (int k = 0; k < kSums; ++k)
    units.n[k][i] = int(sum) == k ? (n_places + plan.unit[k] - 1) / plan.unit[k] : 0;
  if (sum != Sum::direct) atomicAdd(n_tensor, table.n_visibilities);
}

/// A warp lists one task's runs. end_visibility: inclusive sums.
__global__ void list_runs(const SubTable* tables, std::uint32_t n, const VisibilityRun* from,
                          const std::uint32_t* end_visibility, Run* runs) {
  const std::size_t i = this_thread() / 32;
  if (i >= n) return;
  const std::uint32_t lane = threadIdx.x % 32, first_run = tables[i].first_run, n_runs = tables[i].n_runs;
  std::uint32_t next = i == 0 ? 0 : end_visibility[i - 1];
  for (std::uint32_t first = 0; first < n_runs; first += 32) {
    const bool exists = first + lane < n_runs;
    const VisibilityRun run = exists ? from[first_run + first + lane] : VisibilityRun{};
    std::uint32_t before = run.n_channels;
    for (int step = 1; step < 32; step *= 2) {
      const std::uint32_t other = __shfl_up_sync(~0u, before, step);
      if (lane >= step) before += other;
    }
    if (exists)
      runs[first_run + first + lane] = {run.row, run.first_channel, run.n_channels,
                                        next + before - run.n_channels, static_cast<std::uint32_t>(i)};
    next += __shfl_sync(~0u, before, 31);
  }
}

/// A warp lists one task's nodes, and rows on tracks without.
__global__ void list_nodes(TableContents contents, std::uint32_t n, const NodeRow* nodes, Run* runs) {
  const auto i = static_cast<std::uint32_t>(this_thread() / 32);
  if (i >= n) return;
  const std::uint32_t first = contents.first_row(i), end = first + contents.n_rows(i);
  for (std::uint32_t k = first + threadIdx.x % 32; k < end; k += 32)
    runs[k] = {k, nodes[k].first_channel, nodes[k].n_channels, nodes[k].first_place, i};
}

/// ends: inclusive sums of the tasks' units of one kind.
__global__ void list_units(std::uint32_t n, std::uint32_t chunk_tasks, std::uint32_t unit,
                           const std::uint32_t* ends, const std::uint32_t* end_visibility, Unit* units) {
  const std::size_t i = this_thread();
  if (i >= n) return;
  const std::uint32_t end = end_visibility[i];
  std::uint32_t first = i == 0 ? 0 : end_visibility[i - 1];
  for (std::uint32_t k = i == 0 ? 0 : ends[i - 1]; k < ends[i]; ++k, first += unit)
    units[k] = {static_cast<std::uint32_t>(i % chunk_tasks), first, min(unit, end - first)};
}

/// bounds [sum][chunk]: units up to its end.
__global__ void find_bounds(UnitCounts ends, std::uint32_t n, std::uint32_t chunk_tasks,
                            std::uint32_t n_chunks, std::uint32_t* bounds) {
  const std::size_t i = this_thread();
  if (i >= n_chunks) return;
  const std::uint32_t last = min(n, (static_cast<std::uint32_t>(i) + 1) * chunk_tasks) - 1;
#pragma unroll
  for (int k = 0; k < kSums; ++k) bounds[k * n_chunks + i] = ends.n[k][last];
}

/// Into pinned memory, not by a copy, which would wait for predictions on their way to the host.
__global__ void report(const std::uint32_t* values, std::uint32_t n, std::uint32_t* to) {
  const std::size_t i = this_thread();
  if (i < n) to[i] = values[i];
}

constexpr int kPlaceLanes = 16;
template <class T>
__global__ void place_rows(PlaceRows<T> task) {
  const std::size_t i = this_thread() / kPlaceLanes;
  if (i >= task.n_runs) return;
  const Run run = task.runs[i];
  const ComplexOf<T>* from = task.predicted + std::size_t(run.first_visibility) * task.n_planes;
  ComplexOf<T>* to = task.rows + (std::size_t(run.row) * task.n_chan + run.first_channel) * task.n_planes;
  for (std::uint32_t k = threadIdx.x % kPlaceLanes; k < run.n_channels * task.n_planes; k += kPlaceLanes)
    to[k] = from[k];
}

}  // namespace

void DegridLister::list(const DegridListPlan& plan, const idg::DeviceTables& tables,
                        const idg_cuda::DeviceTracks* tracks, DegridTasks& out) {
  const std::uint32_t n = tables.n_tables, n_chunks = (n + plan.chunk_tasks - 1) / plan.chunk_tasks;
  out.chunks.assign(n_chunks, {});
  const std::size_t n_bounds = kSums * n_chunks + 1;  // the last: visibilities for the tensor cores
  std::uint32_t *bounds = bounds_.reserve(n_bounds), *n_tensor = bounds + kSums * n_chunks;
  cuda_check(cudaMemsetAsync(n_tensor, 0, sizeof(std::uint32_t), stream_), "listing subgrids");
  std::uint32_t* ends = end_visibility_.reserve(n);
  UnitCounts units{};
  for (int k = 0; k < kSums; ++k) units.n[k] = end_unit_[k].reserve(n);
  const TableContents contents = contents_of(tables, tracks);
  describe<<<blocks_of(n), kThreads, 0, stream_>>>(plan, contents, n, out.tasks.reserve(n), ends, units,
                                                   n_tensor);
  launched("listing subgrids");
  sort_.inclusive_sum(ends, ends, n);
  for (int k = 0; k < kSums; ++k) sort_.inclusive_sum(units.n[k], units.n[k], n);
  const bool has_tracks = contents.end_track != nullptr;
  out.n_runs = has_tracks ? tracks->n_rows : tables.n_runs;
  Run* runs = out.runs.reserve(out.n_runs);
  if (has_tracks)
    list_nodes<<<blocks_of(std::size_t(n) * 32), kThreads, 0, stream_>>>(contents, n, tracks->rows.data(),
                                                                         runs);
  else
    list_runs<<<blocks_of(std::size_t(n) * 32), kThreads, 0, stream_>>>(tables.tables.data(), n,
                                                                        tables.runs.data(), ends, runs);
  launched("listing runs");
  find_bounds<<<blocks_of(n_chunks), kThreads, 0, stream_>>>(units, n, plan.chunk_tasks, n_chunks, bounds);
  launched("listing units");
  if (host_size_ < n_bounds) {
    host_ = pinned<std::uint32_t>(n_bounds);
    host_size_ = n_bounds;
  }
  report<<<blocks_of(n_bounds), kThreads, 0, stream_>>>(bounds, n_bounds, host_.get());
  launched("listing units");
  cuda_check(cudaStreamSynchronize(stream_), "listing units");
  out.n_tensor_visibilities = host_[kSums * n_chunks];
  for (std::uint32_t i = 0; i < n_chunks; ++i) {
    TaskChunk& chunk = out.chunks[i];
    chunk.first_task = std::size_t(i) * plan.chunk_tasks;
    chunk.n_tasks = std::min<std::size_t>(plan.chunk_tasks, n - chunk.first_task);
    for (int k = 0; k < kSums; ++k) {
      chunk.first_unit[k] = i == 0 ? 0 : host_[k * n_chunks + i - 1];
      chunk.n_units[k] = host_[k * n_chunks + i] - chunk.first_unit[k];
    }
  }
  for (int k = 0; k < kSums; ++k) {
    const std::uint32_t n_units = host_[(k + 1) * n_chunks - 1];
    if (n_units == 0) continue;
    list_units<<<blocks_of(n), kThreads, 0, stream_>>>(n, plan.chunk_tasks, plan.unit[k], units.n[k], ends,
                                                       out.units[k].reserve(n_units));
    launched("listing units");
  }
  cuda_check(cudaStreamSynchronize(stream_), "listing units");
}

template <class T>
void launch_place_rows(const PlaceRows<T>& task, cudaStream_t stream) {
  place_rows<T><<<blocks_of(task.n_runs * kPlaceLanes), kThreads, 0, stream>>>(task);
  launched("placing visibilities");
}

template void launch_place_rows(const PlaceRows<float>&, cudaStream_t);
template void launch_place_rows(const PlaceRows<double>&, cudaStream_t);

}  // namespace apsyn::idg_degrid
