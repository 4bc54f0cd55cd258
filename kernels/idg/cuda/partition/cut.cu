// SPDX-License-Identifier: GPL-3.0-or-later
// Compiled without contracting products and sums, which would move borders by a last bit (cmake/cuda.cmake).
#include "kernels/idg/cuda/partition/cut.cuh"

#include "kernels/common/cuda/check.h"
#include "kernels/common/cuda/launch.cuh"
#include "kernels/idg/cuda/partition/cut_tables.cuh"

namespace apsyn::idg {
namespace {

/// 2^lanes_log2 threads look at one row's weights.
__global__ void survey(DeviceCutInput input, int lanes_log2, RowData* data) {
  const std::size_t row = this_thread() >> lanes_log2;
  const std::uint32_t n_lanes = 1u << lanes_log2, lane = threadIdx.x & (n_lanes - 1);
  const std::uint32_t n_values = input.n_chan * input.n_planes;
  std::uint32_t n_zero = 0;
  if (row < input.n_row)
    for (std::uint32_t i = lane; i < n_values; i += n_lanes) n_zero += input.weight[row * n_values + i] == 0;
  for (std::uint32_t step = n_lanes / 2; step > 0; step /= 2) n_zero += __shfl_xor_sync(~0u, n_zero, step);
  if (lane == 0 && row < input.n_row)
    data[row] = n_zero == 0 ? RowData::all : n_zero == n_values ? RowData::none : RowData::some;
}

__global__ void largest_station(const std::uint32_t* station, std::uint32_t n, std::uint32_t* largest) {
  std::uint32_t own = 0;
  for (std::size_t i = this_thread(); i < n; i += std::size_t(gridDim.x) * blockDim.x)
    own = max(own, station[i]);
  own = __reduce_max_sync(~0u, own);
  if (threadIdx.x % 32 == 0) atomicMax(largest, own);
}

__global__ void baseline_keys(const std::uint32_t* station, std::uint32_t n, int n_bits,
                              std::uint64_t* keys) {
  const std::size_t row = this_thread();
  if (row < n) keys[row] = std::uint64_t(station[2 * row]) << n_bits | station[2 * row + 1];
}

/// start[i] = i where a baseline begins, else 0; without keys all are of one.
__global__ void find_starts(const std::uint64_t* keys, std::uint32_t n, std::uint32_t* start) {
  const std::size_t i = this_thread();
  if (i < n)
    start[i] = keys != nullptr && i > 0 && keys[i] != keys[i - 1] ? static_cast<std::uint32_t>(i) : 0;
}

__device__ __forceinline__ bool begins_piece(std::size_t i, const std::uint32_t* start) {
  return (i - start[i]) % kRowsAtOnce == 0;
}
__global__ void flag_pieces(const std::uint32_t* start, std::uint32_t n, std::uint32_t* flags) {
  const std::size_t i = this_thread();
  if (i < n) flags[i] = begins_piece(i, start);
}
/// places: inclusive sums of the flags.
__global__ void list_starts(const std::uint32_t* start, const std::uint32_t* places, std::uint32_t n,
                            std::uint32_t* pieces) {
  const std::size_t i = this_thread();
  if (i >= n) return;
  if (begins_piece(i, start)) pieces[places[i] - 1] = static_cast<std::uint32_t>(i);
  if (i == n - 1) pieces[places[i]] = n;
}

/// A warp measures one piece and counts its ranges of channels.
__global__ void measure_pieces(CutLimits limits, CutRows rows, const std::uint32_t* sorted,
                               const std::uint32_t* pieces, std::uint32_t n_pieces, double* share,
                               std::uint32_t* n_ranges) {
  const std::size_t piece = this_thread() / 32;
  if (piece >= n_pieces) return;
  double own = 0;
  for (std::uint32_t i = pieces[piece] + threadIdx.x % 32; i < pieces[piece + 1]; i += 32)
    own = greater(own, share_of(limits, rows, sorted[i]));
  for (int step = 16; step > 0; step /= 2) own = greater(own, __shfl_xor_sync(~0u, own, step));
  if (threadIdx.x % 32 != 0) return;
  share[piece] = own;
  std::uint32_t n = 0;
  for (std::uint32_t chan = 0; chan < rows.n_chan; chan += channel_range(rows, own, chan).n) ++n;
  n_ranges[piece] = n;
}

__global__ void list_items(CutRows rows, const std::uint32_t* pieces, const double* share,
                           const std::uint32_t* end_item, std::uint32_t n_pieces, CutItem* items) {
  const std::size_t piece = this_thread();
  if (piece >= n_pieces) return;
  CutItem* item = items + (piece == 0 ? 0 : end_item[piece - 1]);
  for (std::uint32_t chan = 0; chan < rows.n_chan; ++item) {
    *item = {pieces[piece], pieces[piece + 1] - pieces[piece], channel_range(rows, share[piece], chan)};
    chan += item->range.n;
  }
}

/// Into pinned memory, not by a copy, which would wait for all that is on its way to the host.
__global__ void report(const CutCounters* counters, const std::uint32_t* n, const std::uint32_t* n_too,
                       CutCounters* to) {
  *to = *counters;
  if (n != nullptr) to->n = *n;
  if (n_too != nullptr) to->n_too = *n_too;
}

}  // namespace

CutCounters DeviceCutter::counters(const std::uint32_t* n, const std::uint32_t* n_too) {
  report<<<1, 1, 0, stream_>>>(counters_.data(), n, n_too, host_counters_.get());
  launched("counting subgrids");
  cuda_check(cudaStreamSynchronize(stream_), "cutting into subgrids");
  return host_counters_[0];
}

std::uint32_t DeviceCutter::last_of(const std::uint32_t* inclusive_sums, std::uint32_t n) {
  return counters(inclusive_sums + n - 1).n;
}

void DeviceCutter::sort_rows(const DeviceCutInput& input) {
  const std::uint32_t n = input.n_row;
  sort_.begin(n);
  if (input.station != nullptr) {
    largest_station<<<132, kThreads, 0, stream_>>>(input.station, 2 * n, &counters_.data()->n);
    launched("looking for stations");
    const int n_bits = bits_of(counters().n);
    baseline_keys<<<blocks_of(n), kThreads, 0, stream_>>>(input.station, n, n_bits, sort_.keys(n));
    launched("sorting rows");
    sort_.by_keys(n, 2 * n_bits);
  }
  cuda_check(cudaMemcpyAsync(rows_.reserve(n), sort_.order(), n * sizeof(std::uint32_t),
                             cudaMemcpyDeviceToDevice, stream_),
             "sorting rows");
}

/// Returns how many.
std::uint32_t DeviceCutter::list_pieces(const DeviceCutInput& input) {
  const std::uint32_t n = input.n_row;
  std::uint32_t *start = start_.reserve(n), *places = places_.reserve(n);
  find_starts<<<blocks_of(n), kThreads, 0, stream_>>>(
      input.station == nullptr ? nullptr : sort_.sorted_keys(), n, start);
  launched("looking for baselines");
  sort_.inclusive_max(start, start, n);
  flag_pieces<<<blocks_of(n), kThreads, 0, stream_>>>(start, n, places);
  launched("looking for baselines");
  sort_.inclusive_sum(places, places, n);
  const std::uint32_t n_pieces = last_of(places, n);
  list_starts<<<blocks_of(n), kThreads, 0, stream_>>>(start, places, n, pieces_.reserve(n_pieces + 1));
  launched("looking for baselines");
  return n_pieces;
}

bool DeviceCutter::cut(const CutLimits& limits, const DeviceCutInput& input, DeviceTables& out) {
  out.n_tables = out.n_runs = 0;
  out.n_visibilities = 0;
  if (input.n_row == 0 || input.n_chan == 0) return true;
  cuda_check(cudaMemsetAsync(counters_.reserve(1), 0, sizeof(CutCounters), stream_), "cutting into subgrids");
  const std::uint32_t n_values = input.n_chan * input.n_planes;
  RowData* data = data_.reserve(input.n_row);
  if (input.weight == nullptr) {
    cuda_check(cudaMemsetAsync(data, static_cast<int>(RowData::all), input.n_row, stream_), "surveying rows");
  } else {
    int lanes_log2 = 0;
    while (lanes_log2 < 5 && (2u << lanes_log2) <= n_values) ++lanes_log2;
    survey<<<blocks_of(std::size_t(input.n_row) << lanes_log2), kThreads, 0, stream_>>>(input, lanes_log2,
                                                                                        data);
    launched("surveying rows");
  }
  sort_rows(input);
  const std::uint32_t n_pieces = list_pieces(input);
  const CutRows rows{input.uvw_m,     input.wavenumber, input.weight,       data,
                     input.n_chan,    input.n_planes,   input.station,      input.row_slot,
                     input.chan_slot, input.response,   input.n_chan_slots, input.n_stations};
  double* share = share_.reserve(n_pieces);
  std::uint32_t* first_item = first_item_.reserve(n_pieces);
  measure_pieces<<<blocks_of(std::size_t(n_pieces) * 32), kThreads, 0, stream_>>>(
      limits, rows, rows_.data(), pieces_.data(), n_pieces, share, first_item);
  launched("measuring baselines");
  sort_.inclusive_sum(first_item, first_item, n_pieces);
  const std::uint32_t n_items = last_of(first_item, n_pieces);
  CutItem* items = items_.reserve(n_items);
  list_items<<<blocks_of(n_pieces), kThreads, 0, stream_>>>(rows, pieces_.data(), share, first_item, n_pieces,
                                                            items);
  launched("listing channels");

  std::uint32_t *n_tables = n_tables_.reserve(n_items), *n_runs = n_runs_.reserve(n_items);
  const CutItems task{limits, rows, rows_.data(), items, n_items};
  with_lanes(n_items, lanes_, [&](auto lanes) {
    count_tables<lanes.value><<<blocks_of(std::size_t(n_items) * lanes.value), kThreads, 0, stream_>>>(
        task, n_tables, n_runs, counters_.data());
  });
  launched("counting subgrids");
  sort_.inclusive_sum(n_tables, n_tables, n_items);
  sort_.inclusive_sum(n_runs, n_runs, n_items);
  const CutCounters counted = counters(n_tables + n_items - 1, n_runs + n_items - 1);
  cut_.n_tables = counted.n;
  cut_.n_runs = counted.n_too;
  if (counted.refused != 0) return false;
  if (cut_.n_tables == 0) return true;
  SubTable* tables = cut_.tables.reserve(cut_.n_tables);
  VisibilityRun* runs = cut_.runs.reserve(cut_.n_runs);
  with_lanes(n_items, lanes_, [&](auto lanes) {
    write_tables<lanes.value><<<blocks_of(std::size_t(n_items) * lanes.value), kThreads, 0, stream_>>>(
        task, n_tables, n_runs, tables, runs);
  });
  launched("writing subgrids");
  out.n_tables = cut_.n_tables;
  out.n_runs = cut_.n_runs;
  join_small(limits, input, out);
  order(limits, joined_.data(), out);
  return true;
}

}  // namespace apsyn::idg
