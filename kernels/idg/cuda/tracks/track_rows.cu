// SPDX-License-Identifier: GPL-3.0-or-later
// A block of threads makes the rows of one track. A thread owns one channel and plane of every n-th row, and
// holds what all nodes have of these in registers; the nodes' shares in 128 rows stand in shared memory.
#include "kernels/common/cuda/check.h"
#include "kernels/idg/cuda/tracks/track_shares.cuh"

namespace apsyn::idg_cuda {
namespace {

constexpr int kRowThreads = 128, kRowsAtOnce = kRowThreads;

struct ToRow {
  std::uint32_t first_cell;  ///< row * n_chan
  std::uint32_t first_channel, n_channels;
  float scale;  ///< 1 / the sum of its shares
};

struct RowsShared {
  float share[kRowsAtOnce][kMaxNodes + 4];  ///< not yet divided by their sum
  ToRow row[kRowsAtOnce];
  TrackNodeTable nodes;
};

/// One channel and plane.
struct RowColumn {
  std::uint32_t chan, plane;  ///< of the result
  float sign;                 ///< of its imaginary part

  __device__ RowColumn(const TrackRowsTask& task, const DeviceTrack& track, int column)
      : chan(track.first_channel + column / task.n_planes),
        plane(column % task.n_planes),
        sign(track.folded ? -1 : 1) {
    // With A-terms a folded V is the adjoint matrix: XY and YX change places.
    if (task.adjoint && track.folded && (plane == 1 || plane == 2)) plane = 3 - plane;
  }
  template <bool kPath>
  __device__ __forceinline__ void store(const TrackRowsTask& task, std::uint32_t first_cell,
                                        float2 value) const {
    value.y *= sign;
    if (kPath) {
      float sine, cosine;
      sincos_turns(task.path_m[first_cell / task.n_chan] * task.wavenumber[chan], sine, cosine);
      value = make_float2(value.x * cosine - value.y * sine, value.x * sine + value.y * cosine);
    }
    task.out[std::size_t(first_cell + chan) * task.n_planes + plane] = value;
  }
};

template <int kNodes>
__device__ __forceinline__ float2 sum_nodes(const float2 (&value)[kNodes], const float* shares) {
  float2 sum = make_float2(0, 0);
#pragma unroll
  for (int k = 0; k < kNodes; k += 4) {
    const float4 share = *reinterpret_cast<const float4*>(shares + k);
    sum = make_float2(fmaf(share.x, value[k].x, sum.x), fmaf(share.x, value[k].y, sum.y));
    sum = make_float2(fmaf(share.y, value[k + 1].x, sum.x), fmaf(share.y, value[k + 1].y, sum.y));
    sum = make_float2(fmaf(share.z, value[k + 2].x, sum.x), fmaf(share.z, value[k + 2].y, sum.y));
    sum = make_float2(fmaf(share.w, value[k + 3].x, sum.x), fmaf(share.w, value[k + 3].y, sum.y));
  }
  return sum;
}

/// kNodes: those of the track, up to a multiple of 4.
template <int kNodes, bool kPath>
__device__ __forceinline__ void make_rows(const TrackRowsTask& task, const DeviceTrack& track,
                                          RowsShared& shared) {
  const int n_rows = static_cast<int>(track.n_runs), n_nodes = static_cast<int>(track.n_nodes),
            n_columns = static_cast<int>(track.n_channels) * task.n_planes;
  const float2* from = task.values + std::size_t(track.first_place) * task.n_planes;
  for (int first_column = 0; first_column < n_columns; first_column += kRowThreads) {
    const int n = min(n_columns - first_column, kRowThreads), n_groups = kRowThreads / n;
    const int group = static_cast<int>(threadIdx.x) / n,
              at = first_column + static_cast<int>(threadIdx.x) % n;
    const RowColumn column(task, track, at);
    float2 value[kNodes];
#pragma unroll
    for (int k = 0; k < kNodes; ++k)
      value[k] = k < n_nodes ? from[std::size_t(k) * n_columns + at] : make_float2(0, 0);
    for (int first_row = 0; first_row < n_rows; first_row += kRowsAtOnce) {
      const int own = threadIdx.x, n_here = min(n_rows - first_row, kRowsAtOnce);
      __syncthreads();
      if (own < n_here) {
        const VisibilityRun run = task.runs[track.first_run + first_row + own];
        const float t = task.t[track.first_t + first_row + own];
        shared.row[own] = {run.row * task.n_chan, run.first_channel, run.n_channels,
                           shared.nodes.make_shares<kNodes>(t, shared.share[own])};
      }
      __syncthreads();
      for (int row = group; row < n_here && group < n_groups; row += n_groups) {
        const ToRow to = shared.row[row];
        if (column.chan - to.first_channel >= to.n_channels) continue;
        const float2 sum = sum_nodes<kNodes>(value, shared.share[row]);
        column.store<kPath>(task, to.first_cell, make_float2(to.scale * sum.x, to.scale * sum.y));
      }
    }
  }
}

template <bool kPath>
__device__ __forceinline__ void copy_rows(const TrackRowsTask& task, const DeviceTrack& track) {
  const int n_columns = static_cast<int>(track.n_channels) * task.n_planes;
  for (int first_column = 0; first_column < n_columns; first_column += kRowThreads) {
    const int n = min(n_columns - first_column, kRowThreads), n_groups = kRowThreads / n;
    const int group = static_cast<int>(threadIdx.x) / n,
              at = first_column + static_cast<int>(threadIdx.x) % n;
    if (group >= n_groups) continue;
    const RowColumn column(task, track, at);
    for (int i = group; i < static_cast<int>(track.n_runs); i += n_groups) {
      const NodeRow& row = task.rows[track.first_row + i];
      const std::uint32_t chan = column.chan - row.first_channel;
      if (chan >= row.n_channels) continue;
      column.store<kPath>(
          task, task.runs[track.first_run + i].row * task.n_chan,
          task.values[std::size_t(row.first_place + chan) * task.n_planes + at % task.n_planes]);
    }
  }
}

template <bool kPath>
__global__ void __launch_bounds__(kRowThreads, 5) track_rows(TrackRowsTask task) {
  __shared__ alignas(16) RowsShared shared;
  const DeviceTrack track = task.tracks[blockIdx.x];
  if (track.n_nodes == 0) return copy_rows<kPath>(task, track);
  shared.nodes.fill(track);
  with_nodes(track.n_nodes, [&](auto nodes) { make_rows<nodes.n, kPath>(task, track, shared); });
}

}  // namespace

void launch_track_rows(const TrackRowsTask& task, cudaStream_t stream) {
  const auto kernel = task.path_m == nullptr ? track_rows<false> : track_rows<true>;
  kernel<<<task.n_tracks, kRowThreads, 0, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the rows of tracks");
}

}  // namespace apsyn::idg_cuda
