// SPDX-License-Identifier: GPL-3.0-or-later
#ifdef APSYN_CUDA
#include "kernels/idg/degrid_chunks.h"

#include <algorithm>
#include <utility>

#include "libcore/core/parallel.h"

namespace apsyn::idg_degrid {
namespace {

constexpr std::size_t kTasksAtOnce = 64;
/// Relative error of a product of two half-precision factors over many terms, measured.
constexpr double kHalfProductError = 2.6e-4;

int wrap(std::int64_t index, std::size_t n) {
  const auto size = static_cast<std::int64_t>(n);
  return static_cast<int>((index % size + size) % size);
}

Task describe(const IdgPlan& plan, const SubgridTask& task, const LayerRange& layers) {
  const auto half = static_cast<std::int64_t>(plan.settings.subgrid / 2);
  Task result{};
  result.centre_u = static_cast<double>(task.centre_u);
  result.centre_v = static_cast<double>(task.centre_v);
  result.w_lambda = task.w_lambda;
  result.half_w_lambda = task.half_w_lambda;
  result.layer_w_lambda = plan.layer_w_lambda(task.layer);
  result.start_u = wrap(task.centre_u - half, plan.n_u);
  result.start_v = wrap(task.centre_v - half, plan.n_v);
  result.layer = static_cast<int>(task.layer) - static_cast<int>(layers.first);
  result.folded = task.folded;
  result.station_p = task.folded ? task.station_q : task.station_p;
  result.station_q = task.folded ? task.station_p : task.station_q;
  result.row_slot = task.row_slot;
  result.chan_slot = task.chan_slot;
  return result;
}

}  // namespace

TaskLists list_tasks(const IdgPlan& plan, const Partition& parts, const LayerRange& layers,
                     unsigned n_threads) {
  TaskLists lists;
  const std::size_t n = parts.tasks.size();
  lists.tasks.resize(n);
  lists.first_visibility.resize(n + 1);
  lists.runs.resize(parts.runs.size());
  for (std::size_t i = 0; i < n; ++i)
    lists.first_visibility[i + 1] = lists.first_visibility[i] + parts.tasks[i].n_visibilities;
  parallel_for(n_threads, (n + kTasksAtOnce - 1) / kTasksAtOnce, [&](std::size_t item, unsigned) {
    for (std::size_t i = item * kTasksAtOnce; i < std::min(n, (item + 1) * kTasksAtOnce); ++i) {
      const SubgridTask& task = parts.tasks[i];
      lists.tasks[i] = describe(plan, task, layers);
      std::size_t visibility = lists.first_visibility[i];
      for (std::size_t r = task.first_run; r < task.first_run + task.n_runs; ++r) {
        const VisibilityRun& run = parts.runs[r];
        lists.runs[r] = {run.row, run.first_channel, run.n_channels, static_cast<std::uint32_t>(visibility),
                         static_cast<std::uint32_t>(i)};
        visibility += run.n_channels;
      }
    }
  });
  return lists;
}

ChunkLists list_chunks(const IdgPlan& plan, const Partition& parts, const TaskLists& lists,
                       const ChunkLimits& limits, const WSeparation& separation) {
  // What is left out of the phases may take a quarter of the error that was asked for.
  const double most = plan.settings.accuracy / 4;
  const bool tensor = limits.tensor && plan.w_handling == WHandling::chebyshev;
  auto choose = [&](const SubgridTask& task) {
    if (!tensor) return Sum::direct;
    if (separation.error_without(task.half_w_lambda) <= most) return Sum::tensor;
    return separation.error_to_first_order(task.half_w_lambda, kHalfProductError) <= most
               ? Sum::tensor_first_order
               : Sum::direct;
  };
  const auto side = static_cast<int>(plan.settings.subgrid);
  ChunkLists result;
  for (std::size_t i = 0; i < parts.tasks.size(); ++i) {
    const SubgridTask& task = parts.tasks[i];
    if (result.chunks.empty() || result.chunks.back().n_tasks == limits.tasks ||
        result.chunks.back().n_visibilities + task.n_visibilities > limits.visibilities) {
      Chunk& chunk = result.chunks.emplace_back();
      chunk.first_task = i;
      chunk.first_visibility = lists.first_visibility[i];
      for (int sum = 0; sum < kSums; ++sum) chunk.first_unit[sum] = result.units[sum].size();
    }
    Chunk& chunk = result.chunks.back();
    const Sum sum = choose(task);
    const auto own = static_cast<std::uint32_t>(chunk.n_tasks);
    const std::size_t at_once =
        static_cast<std::size_t>(sum == Sum::direct ? kDirectUnit : tensor_unit(side));
    for (std::size_t k = 0; k < task.n_visibilities; k += at_once) {
      result.units[int(sum)].push_back(
          {own, static_cast<std::uint32_t>(lists.first_visibility[i] + k),
           static_cast<std::uint32_t>(std::min(at_once, task.n_visibilities - k))});
      ++chunk.n_units[int(sum)];
    }
    ++chunk.n_tasks;
    chunk.n_visibilities += task.n_visibilities;
  }
  return result;
}

template <class T, class Out>
void add_chunk(const Partition& parts, const TaskLists& lists, const Chunk& chunk,
               const std::complex<T>* predicted, unsigned n_threads, View<std::complex<Out>, 3> data) {
  const std::size_t n_planes = data.extent(2), end = chunk.first_task + chunk.n_tasks;
  parallel_for(n_threads, (chunk.n_tasks + kTasksAtOnce - 1) / kTasksAtOnce, [&](std::size_t item, unsigned) {
    const std::size_t begin = chunk.first_task + item * kTasksAtOnce;
    for (std::size_t i = begin; i < std::min(end, begin + kTasksAtOnce); ++i) {
      const SubgridTask& task = parts.tasks[i];
      const std::complex<T>* from =
          predicted + (lists.first_visibility[i] - chunk.first_visibility) * n_planes;
      for (std::size_t r = task.first_run; r < task.first_run + task.n_runs; ++r) {
        const VisibilityRun& run = parts.runs[r];
        std::complex<Out>* to = &data(run.row, run.first_channel, 0);
        const std::size_t n = run.n_channels * n_planes;
        for (std::size_t k = 0; k < n; ++k) to[k] += std::complex<Out>(from[k]);
        from += n;
      }
    }
  });
}

template void add_chunk(const Partition&, const TaskLists&, const Chunk&, const std::complex<float>*,
                        unsigned, View<std::complex<float>, 3>);
template void add_chunk(const Partition&, const TaskLists&, const Chunk&, const std::complex<float>*,
                        unsigned, View<std::complex<double>, 3>);
template void add_chunk(const Partition&, const TaskLists&, const Chunk&, const std::complex<double>*,
                        unsigned, View<std::complex<float>, 3>);
template void add_chunk(const Partition&, const TaskLists&, const Chunk&, const std::complex<double>*,
                        unsigned, View<std::complex<double>, 3>);

}  // namespace apsyn::idg_degrid
#endif  // APSYN_CUDA
