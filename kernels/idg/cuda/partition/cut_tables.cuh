// SPDX-License-Identifier: GPL-3.0-or-later
// cuda/partition/cut.cu's passes over rows: what each item is cut into is counted, then written.
#pragma once

#include <type_traits>

#include "kernels/common/cuda/launch.cuh"
#include "kernels/common/cuda/sm90/async_copy.cuh"
#include "kernels/idg/cuda/partition/cut.cuh"
#include "kernels/idg/cuda/partition/cut_lanes.cuh"

namespace apsyn::idg {
namespace {

/// Counts what touches the pass.
struct Counter {
  const CutLimits& limits;
  std::uint32_t n_tables = 0, n_runs = 0, n_refused = 0;

  __device__ __forceinline__ void run(std::uint32_t, std::uint32_t, std::uint32_t) {}
  __device__ __forceinline__ void rows(bool, std::uint32_t, std::uint32_t, std::uint32_t,
                                       const ChannelRange&) {}
  __device__ __forceinline__ void table(const SubTable& table) {
    if (!limits.in_pass(table.layer)) return;
    ++n_tables;
    n_runs += table.n_runs;
  }
  __device__ __forceinline__ void refuse(const UvwBox&) { ++n_refused; }
};

/// Runs of sub-tables that do not touch the pass are overwritten by the next; what counting left no room for
/// is not written.
struct Writer {
  const CutLimits& limits;
  SubTable* tables;
  VisibilityRun* runs;
  std::uint32_t first_run, next_run, end_run;
  bool leads;  ///< of lanes that cut together one writes

  __device__ __forceinline__ void run(std::uint32_t row, std::uint32_t first, std::uint32_t n) {
    if (leads && next_run < end_run) runs[next_run] = {row, first, n};
    ++next_run;
  }
  /// n rows, this lane's `row` the rank-th of them if it `is_one`.
  __device__ __forceinline__ void rows(bool is_one, std::uint32_t rank, std::uint32_t n, std::uint32_t row,
                                       const ChannelRange& range) {
    if (is_one && next_run + rank < end_run) runs[next_run + rank] = {row, range.first, range.n};
    next_run += n;
  }
  __device__ __forceinline__ void table(const SubTable& table) {
    if (limits.in_pass(table.layer)) {
      if (leads) {
        *tables = table;
        tables->first_run = first_run;
      }
      ++tables;
      first_run = next_run;
    } else {
      next_run = first_run;
    }
  }
  __device__ __forceinline__ void refuse(const UvwBox&) {}
};

/// Rows are fetched ahead: a thread takes them one after the other and would wait for each.
template <class Out>
__device__ __forceinline__ void cut_by_thread(const CutLimits& limits, const CutRows& rows,
                                              const std::uint32_t* own, const CutItem& item, Out& out) {
  constexpr std::uint32_t ahead = 6;
  Cutter<Out> cutter(limits, rows, out);
  std::uint32_t later = own[min(ahead, item.n - 1)];
  for (std::uint32_t i = 0; i < item.n; ++i) {
    ptx::fetch_ahead(rows.uvw_m + 3 * std::size_t(later));
    ptx::fetch_ahead(rows.data + later);
    later = own[min(i + ahead + 1, item.n - 1)];
    cutter.add(own[i], item.range);
  }
  cutter.finish();
}

template <int kLanes, class Out>
__device__ __forceinline__ void cut_item(const CutLimits& limits, const CutRows& rows,
                                         const std::uint32_t* sorted, const CutItem& item, Out& out) {
  if constexpr (kLanes == 1)
    cut_by_thread(limits, rows, sorted + item.first, item, out);
  else
    cut_by_lanes<kLanes>(limits, rows, sorted + item.first, item.n, item.range, out);
}

/// What both passes over the items take; kLanes for each.
struct CutItems {
  CutLimits limits;
  CutRows rows;
  const std::uint32_t* sorted;
  const CutItem* items;
  std::uint32_t n;
};

template <int kLanes>
__global__ void __launch_bounds__(kThreads, 4)
    count_tables(CutItems task, std::uint32_t* n_tables, std::uint32_t* n_runs, CutCounters* counters) {
  const std::size_t i = this_thread() / kLanes;
  if (i >= task.n) return;
  Counter counter{task.limits};
  cut_item<kLanes>(task.limits, task.rows, task.sorted, task.items[i], counter);
  if (threadIdx.x % kLanes != 0) return;
  n_tables[i] = counter.n_tables;
  n_runs[i] = counter.n_runs;
  if (counter.n_refused > 0) counters->refused = 1;
}

/// end_table, end_run: inclusive sums.
template <int kLanes>
__global__ void __launch_bounds__(kThreads, 4)
    write_tables(CutItems task, const std::uint32_t* end_table, const std::uint32_t* end_run,
                 SubTable* tables, VisibilityRun* runs) {
  const std::size_t i = this_thread() / kLanes;
  if (i >= task.n) return;
  const std::uint32_t first_table = i == 0 ? 0 : end_table[i - 1], first_run = i == 0 ? 0 : end_run[i - 1];
  Writer writer{task.limits, tables + first_table,     runs, first_run, first_run,
                end_run[i],  threadIdx.x % kLanes == 0};
  cut_item<kLanes>(task.limits, task.rows, task.sorted, task.items[i], writer);
}

/// run(std::integral_constant<int, lanes for each item>()): those wanted, or as many as a device has room
/// for.
template <class Run>
void with_lanes(std::uint32_t n_items, int wanted, const Run& run) {
  constexpr std::uint32_t max_threads = 132 * 2048;
  const int most = n_items <= max_threads / 32 ? 32 : n_items <= max_threads / 8 ? 8 : 1;
  switch (wanted == 0 ? most : wanted) {
    case 32:
      return run(std::integral_constant<int, 32>());
    case 8:
      return run(std::integral_constant<int, 8>());
    default:
      return run(std::integral_constant<int, 1>());
  }
}

}  // namespace
}  // namespace apsyn::idg
