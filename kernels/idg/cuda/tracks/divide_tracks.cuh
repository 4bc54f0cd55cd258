// SPDX-License-Identifier: GPL-3.0-or-later
// How a warp divides a sub-table's runs into tracks.
#pragma once

#include "kernels/idg/cuda/tracks/tracks.cuh"

namespace apsyn::idg_cuda {

__device__ __forceinline__ bool is_folded(const idg::DeviceCutInput& rows, std::uint32_t row) {
  return rows.uvw_m[3 * std::size_t(row) + 2] < 0;
}
__device__ __forceinline__ void read_row(const idg::DeviceCutInput& rows, std::uint32_t row, double* metres) {
  const double* from = rows.uvw_m + 3 * std::size_t(row);
  const double sign = from[2] < 0 ? -1 : 1;
  for (int axis = 0; axis < 3; ++axis) metres[axis] = sign * from[axis];
}

struct Channels {
  std::uint32_t first, end;

  __device__ bool operator==(const Channels& other) const { return first == other.first && end == other.end; }
  __device__ Channels with(const Channels& other) const {
    return {min(first, other.first), max(end, other.end)};
  }
  __device__ bool overlaps(const Channels& other) const { return other.first < end && first < other.end; }
  __device__ double max_wavenumber(const idg::DeviceCutInput& rows) const {
    double most = 0;
    for (std::uint32_t chan = first; chan < end; ++chan) most = fmax(most, rows.wavenumber[chan]);
    return most;
  }
};

/// What a lane knows of a run.
struct RunKey {
  std::uint32_t row, p, q, folded;
  Channels channels;

  __device__ static RunKey read(const idg::DeviceCutInput& rows, const VisibilityRun& run) {
    RunKey key{
        run.row, 0, 0, is_folded(rows, run.row), {run.first_channel, run.first_channel + run.n_channels}};
    if (rows.station != nullptr) {
      key.p = rows.station[2 * std::size_t(run.row)];
      key.q = rows.station[2 * std::size_t(run.row) + 1];
    }
    return key;
  }
  __device__ RunKey of_lane(int lane) const {
    return {__shfl_sync(~0u, row, lane),
            __shfl_sync(~0u, p, lane),
            __shfl_sync(~0u, q, lane),
            __shfl_sync(~0u, folded, lane),
            {__shfl_sync(~0u, channels.first, lane), __shfl_sync(~0u, channels.end, lane)}};
  }
  __device__ bool same_baseline(const RunKey& other) const {
    return p == other.p && q == other.q && folded == other.folded;
  }
};

/// Whether all of these channels of a row lie where the sub-table's visibilities do.
__device__ inline bool holds(const idg::NodeLimits& limits, const idg::DeviceCutInput& rows,
                             const idg::UvwBox& box, std::uint32_t row, const Channels& channels) {
  double metres[3];
  read_row(rows, row, metres);
  auto within = [](double at, double least, double most) {
    const double beyond = 1e-9 * fmax(fabs(least), fabs(most));
    return at >= least - beyond && at <= most + beyond;
  };
  for (std::uint32_t chan = channels.first; chan < channels.end; ++chan) {
    const double k = rows.wavenumber[chan];
    if (!within(metres[0] * k * limits.per_u, box.min_u, box.max_u) ||
        !within(metres[1] * k * limits.per_v, box.min_v, box.max_v) ||
        !within(metres[2] * k, box.min_w, box.max_w))
      return false;
  }
  return true;
}

/// Runs of one baseline and the same sign of w, from `begin` on up to where divide() is.
struct Sequence {
  std::uint32_t begin;
  RunKey first, last;
  Channels channels;  ///< that any of them has
};

/// Calls take(begin, n, pieces, channels) for n runs that are to become `pieces` tracks, in all lanes alike.
/// Channels of the sequence that a run lacks are flagged and have no weight, but must lie in the subgrid.
template <class Take>
__device__ __forceinline__ void divide(const idg::NodeLimits& limits, const idg::DeviceCutInput& rows,
                                       const VisibilityRun* runs, const idg::SubTable& table,
                                       const Take& take) {
  const std::uint32_t end = table.first_run + table.n_runs;
  const int lane = threadIdx.x % 32;
  Sequence now{};
  auto finish = [&](std::uint32_t at) {
    double from[3], chord[3];
    read_row(rows, now.first.row, from);
    read_row(rows, now.last.row, chord);
    for (int axis = 0; axis < 3; ++axis) chord[axis] -= from[axis];
    const std::uint32_t n = at - now.begin;
    const double turn = limits.phase_of(now.channels.max_wavenumber(rows), chord) / 2;
    const std::uint32_t n_channels = now.channels.end - now.channels.first;
    take(now.begin, n, max(1u, idg::best_pieces(limits, turn, n, n_channels)), now.channels);
  };
  auto begin = [&](std::uint32_t at, const RunKey& first) { now = {at, first, first, first.channels}; };
  for (std::uint32_t base = table.first_run; base < end; base += 32) {
    const int n_here = static_cast<int>(min(end - base, 32u));
    const RunKey own = RunKey::read(rows, runs[base + min(lane, n_here - 1)]);
    const RunKey before = own.of_lane(max(lane - 1, 0));
    // Runs like the one before go where that goes, but for what of the sequence's channels they lack.
    unsigned changes = __ballot_sync(~0u, lane < n_here && (lane == 0 || !own.same_baseline(before) ||
                                                            !(own.channels == before.channels)));
    while (changes != 0) {
      const int at = __ffs(changes) - 1;
      changes &= changes - 1;
      const int like_end = changes != 0 ? __ffs(changes) - 1 : n_here;
      const RunKey next = own.of_lane(at);
      bool goes_on = base + at != table.first_run && next.same_baseline(now.first);
      if (base + at != table.first_run && at > 0) now.last = own.of_lane(at - 1);
      if (goes_on && !(next.channels == now.channels)) {
        const Channels all = now.channels.with(next.channels);
        goes_on =
            (next.row == now.last.row || (next.row > now.last.row && now.channels.overlaps(next.channels))) &&
            (all == now.channels || holds(limits, rows, table.box, now.first.row, all));
        const bool like = lane >= at && lane < like_end;
        const unsigned beyond =
            __ballot_sync(~0u, goes_on && like && !holds(limits, rows, table.box, own.row, all));
        if (goes_on && beyond != 0) {
          const int until = __ffs(beyond) - 1;
          goes_on = until > at;
          if (goes_on) {
            now.channels = all;
            now.last = own.of_lane(until - 1);
            finish(base + until);
            begin(base + until, own.of_lane(until));
          }
        } else if (goes_on) {
          now.channels = all;
        }
      }
      if (!goes_on) {
        if (base + at != table.first_run) finish(base + at);
        begin(base + at, next);
      }
    }
    now.last = own.of_lane(n_here - 1);
  }
  finish(end);
}

}  // namespace apsyn::idg_cuda
