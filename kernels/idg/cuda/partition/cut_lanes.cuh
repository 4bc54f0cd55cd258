// SPDX-License-Identifier: GPL-3.0-or-later
// Cutting by several lanes of a warp: a baseline's rows follow one another for as long as a subgrid holds
// them, which n lanes look at n rows at a time for. The same cuts as one thread makes.
#pragma once

#include "kernels/idg/partition/cut_rows.h"

namespace apsyn::idg {

/// kLanes neighbouring lanes that cut one item together; 1: a thread by itself.
template <int kLanes>
struct CutLanes {
  int index = threadIdx.x % kLanes;
  unsigned members = kLanes == 32 ? ~0u : ((1u << (kLanes % 32)) - 1) << (threadIdx.x % 32 / kLanes * kLanes);

  __device__ __forceinline__ bool leads() const { return index == 0; }
  /// Bit i: of lane i of these.
  __device__ __forceinline__ unsigned ballot(bool value) const {
    return __ballot_sync(members, value) >> (threadIdx.x % 32 / kLanes * kLanes) &
           (members >> (__ffs(members) - 1));
  }
  template <class T>
  __device__ __forceinline__ T of_lane(T value, int lane) const {
    return __shfl_sync(members, value, lane, kLanes);
  }
  __device__ __forceinline__ UvwBox of_lane(const UvwBox& box, int lane) const {
    return {of_lane(box.min_u, lane), of_lane(box.max_u, lane), of_lane(box.min_v, lane),
            of_lane(box.max_v, lane), of_lane(box.min_w, lane), of_lane(box.max_w, lane)};
  }
  /// Joined with those of all lanes before.
  __device__ __forceinline__ UvwBox joined_before(UvwBox box) const {
    for (int step = 1; step < kLanes; step *= 2) {
      const UvwBox other = of_lane(box, max(index - step, 0));
      if (index >= step) box = other.joined(box);
    }
    return box;
  }
};

__device__ __forceinline__ bool is_finite(const UvwBox& box) {
  return isfinite(box.min_u) && isfinite(box.max_u) && isfinite(box.min_v) && isfinite(box.max_v) &&
         isfinite(box.min_w) && isfinite(box.max_w);
}

/// All lanes alike, but for what out.rows(...) gets: see cuda/partition/cut.cu.
template <int kLanes, class Out>
__device__ __forceinline__ void cut_by_lanes(const CutLimits& limits, const CutRows& rows,
                                             const std::uint32_t* own, std::uint32_t n_rows,
                                             const ChannelRange& range, Out& out) {
  const CutLanes<kLanes> lanes;
  Cutter<Out> cutter(limits, rows, out);
  for (std::uint32_t base = 0; base < n_rows; base += kLanes) {
    const int n = static_cast<int>(min(n_rows - base, std::uint32_t(kLanes)));
    const std::uint32_t row = own[base + min(lanes.index, n - 1)];
    const RowData data = lanes.index < n ? rows.data[row] : RowData::none;
    const bool has_all = data == RowData::all;
    const UvwBox box = cutter.box_of(row, range);
    // What is joined must not depend on the order: NaN's would.
    const bool is_plain = data == RowData::none || (has_all && is_finite(box));
    for (int done = 0; done < n;) {
      const bool counts = lanes.index >= done && has_all && is_plain;
      const unsigned counted = lanes.ballot(counts);
      const UvwBox joined = lanes.joined_before(counts ? box : UvwBox{});
      const auto n_before = static_cast<std::uint32_t>(__popc(counted & ((1u << lanes.index) - 1)));
      const bool goes_on = lanes.index < done || lanes.index >= n ||
                           (is_plain && (!has_all || cutter.takes_too(row, joined, n_before, range)));
      const unsigned stops = lanes.ballot(!goes_on);
      const int until = stops != 0 ? __ffs(stops) - 1 : n;
      if (until > done) {
        const auto n_taken =
            static_cast<std::uint32_t>(__popc(counted & (until == 32 ? ~0u : (1u << until) - 1)));
        if (n_taken > 0) {
          cutter.take_too(lanes.of_lane(joined, until - 1), n_taken, range);
          out.rows(counts && lanes.index < until, n_before, n_taken, row, range);
        }
      }
      done = until;
      if (done < n) cutter.add(lanes.of_lane(row, done++), range);
    }
  }
  cutter.finish();
}

}  // namespace apsyn::idg
