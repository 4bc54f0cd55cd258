// SPDX-License-Identifier: GPL-3.0-or-later
// Small sub-tables of any baselines with the same A-terms joined, and all put in order. Compiled without
// contracting products and sums, like cuda/partition/cut.cu.
#include <stdexcept>

#include "kernels/common/cuda/check.h"
#include "kernels/common/cuda/launch.cuh"
#include "kernels/idg/cuda/partition/cut.cuh"

namespace apsyn::idg {
namespace {

/// Signed numbers as unsigned ones of the same order.
__device__ __forceinline__ std::uint32_t ordered(std::int32_t value) {
  return static_cast<std::uint32_t>(value) ^ 0x80000000u;
}

__device__ __forceinline__ bool is_small(const SubTable& table) {
  return table.n_visibilities < kFewVisibilities;
}

/// Sorting by w, then A-terms, u, and layer and v: the large ones to the end, as they were.
enum class JoinKey { w, aterms, u, layer_v };

/// Bits of the numbers in an AtermKey.
struct AtermBits {
  int response, row_slot, chan_slot;
  int all() const { return 1 + 2 * response + chan_slot + row_slot; }
};
__global__ void join_keys(CutLimits limits, const SubTable* tables, const std::uint32_t* order,
                          std::uint32_t n, JoinKey which, int layer_bits, AtermBits bits,
                          std::uint64_t* keys) {
  const std::size_t i = this_thread();
  if (i >= n) return;
  const SubTable& table = tables[order[i]];
  if (!is_small(table)) {
    keys[i] = which == JoinKey::layer_v  ? std::uint64_t{1} << (32 + layer_bits)
              : which == JoinKey::aterms ? 0
                                         : 0xffffffffu;
    return;
  }
  if (which == JoinKey::aterms) {
    const AtermKey& key = table.aterms;
    const std::uint64_t slots = std::uint64_t(key.row_slot) << bits.chan_slot | key.chan_slot;
    keys[i] = ((slots << bits.response | key.response_p) << bits.response | key.response_q) << 1 | key.folded;
    return;
  }
  const JoinPlace place = join_place(limits, table);
  if (which == JoinKey::w) {
    keys[i] = __float_as_uint(place.w);
  } else {
    keys[i] = which == JoinKey::u ? ordered(place.u) : std::uint64_t(place.layer) << 32 | ordered(place.v);
  }
}

/// start[i] = i where a layer begins, else 0: passes over some layers join as one over all does.
__global__ void find_layers(const std::uint64_t* keys, std::uint32_t n, std::uint32_t* start) {
  const std::size_t i = this_thread();
  if (i < n) start[i] = i > 0 && keys[i] >> 32 != keys[i - 1] >> 32 ? static_cast<std::uint32_t>(i) : 0;
}

/// Where a piece begins, a thread joins its neighbours. opens[i]: whether a subgrid begins there.
__global__ void join_neighbours(CutLimits limits, const SubTable* tables, const std::uint32_t* order,
                                std::uint32_t n, const std::uint32_t* start, std::uint32_t* opens) {
  const std::size_t begin = this_thread();
  if (begin >= n || (begin - start[begin]) % kJoinedAtOnce != 0) return;
  const std::uint32_t end = min(n, static_cast<std::uint32_t>(begin) + kJoinedAtOnce);
  SubTable open{}, next = tables[order[begin]];
  for (std::uint32_t i = static_cast<std::uint32_t>(begin); i < end; ++i) {
    if (start[i] != start[begin]) return;
    const SubTable table = next;
    if (i + 1 < end) next = tables[order[i + 1]];
    const bool joins = i > begin && is_small(table) && limits.join(open, table);
    opens[i] = !joins;
    if (joins) {
      open.box = open.box.joined(table.box);
      open.n_visibilities += table.n_visibilities;
    } else {
      open = table;
    }
  }
}

__global__ void runs_of(const SubTable* tables, const std::uint32_t* order, std::uint32_t n,
                        std::uint32_t* n_runs) {
  const std::size_t i = this_thread();
  if (i < n) n_runs[i] = tables[order[i]].n_runs;
}

/// groups, end_run: inclusive sums of what begins a subgrid, and of runs.
__global__ void write_joined(const SubTable* tables, const std::uint32_t* order, std::uint32_t n,
                             const std::uint32_t* groups, const std::uint32_t* end_run, SubTable* joined) {
  const std::size_t i = this_thread();
  if (i >= n || (i > 0 && groups[i] == groups[i - 1])) return;
  SubTable out = tables[order[i]];
  for (std::size_t k = i + 1; k < n && groups[k] == groups[i]; ++k) {
    const SubTable& table = tables[order[k]];
    out.box = out.box.joined(table.box);
    out.n_visibilities += table.n_visibilities;
    out.n_runs += table.n_runs;
  }
  out.first_run = i == 0 ? 0 : end_run[i - 1];
  joined[groups[i] - 1] = out;
}

constexpr int kCopyLanes = 8;
__global__ void copy_runs(const SubTable* tables, const std::uint32_t* order, std::uint32_t n,
                          const VisibilityRun* from, const std::uint32_t* end_run, VisibilityRun* to) {
  const std::size_t i = this_thread() / kCopyLanes;
  if (i >= n) return;
  const SubTable& table = tables[order[i]];
  const std::uint32_t first = i == 0 ? 0 : end_run[i - 1];
  for (std::uint32_t k = threadIdx.x % kCopyLanes; k < table.n_runs; k += kCopyLanes)
    to[first + k] = from[table.first_run + k];
}

__device__ __forceinline__ std::uint32_t warp_sum(std::uint32_t value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}

/// Sub-tables that the pass does not take come last.
__global__ void order_keys(CutLimits limits, const SubTable* tables, const std::uint32_t* order,
                           std::uint32_t n, bool by_u, int layer_bits, std::uint64_t* keys,
                           CutCounters* counters) {
  const std::size_t i = this_thread();
  std::uint32_t n_visibilities = 0, n_runs = 0, taken = 0;
  if (i < n) {
    const SubTable& table = tables[order[i]];
    const SubTableCentre centre = centre_of(table.box);
    if (limits.takes(table)) n_visibilities = table.n_visibilities, n_runs = table.n_runs, taken = 1;
    if (by_u)
      keys[i] = ordered(static_cast<std::int32_t>(centre.u));
    else
      keys[i] = taken == 0 ? std::uint64_t{1} << (32 + layer_bits)
                           : std::uint64_t(table.layer) << 32 | ordered(static_cast<std::int32_t>(centre.v));
  }
  if (!by_u) return;
  n_visibilities = warp_sum(n_visibilities), n_runs = warp_sum(n_runs), taken = warp_sum(taken);
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(&counters->n_visibilities, static_cast<unsigned long long>(n_visibilities));
  atomicAdd(&counters->n_runs, n_runs);
  atomicAdd(&counters->n_tables, taken);
}

__global__ void take_in_order(const SubTable* tables, const std::uint32_t* order, std::uint32_t n,
                              SubTable* out) {
  const std::size_t i = this_thread();
  if (i < n) out[i] = tables[order[i]];
}

}  // namespace

void DeviceCutter::join_small(const CutLimits& limits, const DeviceCutInput& input, DeviceTables& out) {
  const std::uint32_t n = cut_.n_tables;
  const SubTable* tables = cut_.tables.data();
  const int layer_bits = bits_of(static_cast<std::uint64_t>(limits.last_layer));
  const AtermBits bits{bits_of(input.n_responses), bits_of(input.n_row_slots), bits_of(input.n_chan_slots)};
  if (bits.all() > 64) throw std::invalid_argument("gridder: too many slots and responses of A-terms");
  sort_.begin(n);
  auto sort = [&](JoinKey which, int n_bits) {
    join_keys<<<blocks_of(n), kThreads, 0, stream_>>>(limits, tables, sort_.order(), n, which, layer_bits,
                                                      bits, sort_.keys(n));
    launched("sorting subgrids");
    sort_.by_keys(n, n_bits);
  };
  sort(JoinKey::w, 32);
  if (input.row_slot != nullptr) sort(JoinKey::aterms, bits.all());
  sort(JoinKey::u, 32);
  sort(JoinKey::layer_v, 33 + layer_bits);
  std::uint32_t *opens = opens_.reserve(n), *n_runs = n_runs_.reserve(n);
  std::uint32_t* start = start_.reserve(n);
  find_layers<<<blocks_of(n), kThreads, 0, stream_>>>(sort_.sorted_keys(), n, start);
  launched("joining subgrids");
  sort_.inclusive_max(start, start, n);
  join_neighbours<<<blocks_of(n), kThreads, 0, stream_>>>(limits, tables, sort_.order(), n, start, opens);
  launched("joining subgrids");
  runs_of<<<blocks_of(n), kThreads, 0, stream_>>>(tables, sort_.order(), n, n_runs);
  launched("joining subgrids");
  sort_.inclusive_sum(opens, opens, n);
  sort_.inclusive_sum(n_runs, n_runs, n);
  out.n_tables = last_of(opens, n);
  write_joined<<<blocks_of(n), kThreads, 0, stream_>>>(tables, sort_.order(), n, opens, n_runs,
                                                       joined_.reserve(out.n_tables));
  launched("joining subgrids");
  copy_runs<<<blocks_of(std::size_t(n) * kCopyLanes), kThreads, 0, stream_>>>(
      tables, sort_.order(), n, cut_.runs.data(), n_runs, out.runs.reserve(out.n_runs));
  launched("joining subgrids");
}

void DeviceCutter::order(const CutLimits& limits, const SubTable* tables, DeviceTables& out) {
  const std::uint32_t n = out.n_tables;
  const int layer_bits = bits_of(static_cast<std::uint64_t>(limits.last_layer));
  sort_.begin(n);
  for (const bool by_u : {true, false}) {
    order_keys<<<blocks_of(n), kThreads, 0, stream_>>>(limits, tables, sort_.order(), n, by_u, layer_bits,
                                                       sort_.keys(n), counters_.data());
    launched("sorting subgrids");
    sort_.by_keys(n, by_u ? 32 : 33 + layer_bits);
  }
  take_in_order<<<blocks_of(n), kThreads, 0, stream_>>>(tables, sort_.order(), n, out.tables.reserve(n));
  launched("sorting subgrids");
  const CutCounters taken = counters();
  out.n_tables = taken.n_tables;
  out.n_runs = taken.n_runs;
  out.n_visibilities = taken.n_visibilities;
}

}  // namespace apsyn::idg
