// SPDX-License-Identifier: GPL-3.0-or-later
// A block of threads sums one track. A thread owns one channel and plane of every n-th row, and holds the
// sums of all nodes in registers; the shares of 128 rows in the nodes stand in shared memory. Values are read
// ahead.
#include "kernels/common/cuda/check.h"
#include "kernels/idg/cuda/tracks/track_shares.cuh"

namespace apsyn::idg_cuda {
namespace {

constexpr int kValueThreads = 128, kRowsAtOnce = kValueThreads;
/// Rows that a thread reads together, and blocks of an SM: more of either spill registers.
constexpr int kAhead = 2, kBlocks = 5;

struct TrackRow {
  std::uint32_t first_cell;  ///< row * n_chan
  std::uint32_t first_channel, n_channels;
  float scale;  ///< 1 / the sum of its shares
};

struct TrackShared {
  union {
    float share[kRowsAtOnce][kMaxNodes + 4];  ///< not yet divided by their sum
    float2 part[kMaxNodes][kValueThreads];
  };
  TrackRow row[kRowsAtOnce];
  TrackNodeTable nodes;
};

/// A visibility as it is read.
struct Raw {
  float2 value{0, 0};
  float weight = 0;
};

/// One channel and plane.
struct Column {
  const float2* data;
  const float* weight;
  std::uint32_t chan;
  bool psf;

  __device__ Column(const TrackValuesTask& task, const DeviceTrack& track, int column) {
    const BlockArrays& block = task.block;
    int plane = column % task.n_planes;
    if (block.adjoint && track.folded && (plane == 1 || plane == 2)) plane = 3 - plane;
    chan = track.first_channel + column / task.n_planes;
    psf = plane >= block.n_data_planes;
    data = block.data + (psf ? 0 : plane);
    weight = block.weight + (psf ? 0 : min(plane, block.n_weight_planes - 1));
  }
  __device__ __forceinline__ Raw read(const TrackValuesTask& task, std::uint32_t first_cell) const {
    const std::uint32_t cell = first_cell + chan;
    return {psf ? make_float2(1, 0) : data[std::size_t(cell) * task.block.n_data_planes],
            weight[std::size_t(cell) * task.block.n_weight_planes]};
  }
  /// Weighted, not yet folded; 0 without weight, whatever it was.
  template <bool kPath>
  __device__ __forceinline__ float2 finish(const TrackValuesTask& task, const Raw& raw,
                                           std::uint32_t first_cell, float scale) const {
    const float factor = raw.weight * scale;
    float2 out = make_float2(factor * raw.value.x, factor * raw.value.y);
    if (raw.weight == 0) out = make_float2(0, 0);
    if (kPath && !psf) {
      float sine, cosine;
      sincos_turns(-task.block.path_m[first_cell / task.block.n_chan] * task.block.wavenumber[chan], sine,
                   cosine);
      out = make_float2(out.x * cosine - out.y * sine, out.x * sine + out.y * cosine);
    }
    return out;
  }
};

__device__ __forceinline__ float2 fold(const DeviceTrack& track, float2 value) {
  return make_float2(value.x, track.folded ? -value.y : value.y);
}

template <int kNodes>
__device__ __forceinline__ void add_row(float2 (&sum)[kNodes], const float* shares, float2 v) {
#pragma unroll
  for (int k = 0; k < kNodes; k += 4) {
    const float4 share = *reinterpret_cast<const float4*>(shares + k);
    sum[k] = make_float2(fmaf(share.x, v.x, sum[k].x), fmaf(share.x, v.y, sum[k].y));
    sum[k + 1] = make_float2(fmaf(share.y, v.x, sum[k + 1].x), fmaf(share.y, v.y, sum[k + 1].y));
    sum[k + 2] = make_float2(fmaf(share.z, v.x, sum[k + 2].x), fmaf(share.z, v.y, sum[k + 2].y));
    sum[k + 3] = make_float2(fmaf(share.w, v.x, sum[k + 3].x), fmaf(share.w, v.y, sum[k + 3].y));
  }
}

/// kNodes: those of the track, up to a multiple of 4.
template <int kNodes, bool kPath>
__device__ __forceinline__ void sum_track(const TrackValuesTask& task, const DeviceTrack& track,
                                          TrackShared& shared) {
  const int n_rows = static_cast<int>(track.n_runs);
  const int n_columns = static_cast<int>(track.n_channels) * task.n_planes;
  float2* to = task.values + std::size_t(track.first_place) * task.n_planes;
  for (int first_column = 0; first_column < n_columns; first_column += kValueThreads) {
    const int n = min(n_columns - first_column, kValueThreads), n_groups = kValueThreads / n;
    const int group = static_cast<int>(threadIdx.x) / n;
    const Column column(task, track, first_column + static_cast<int>(threadIdx.x) % n);
    float2 sum[kNodes];
#pragma unroll
    for (int k = 0; k < kNodes; ++k) sum[k] = make_float2(0, 0);
    for (int first_row = 0; first_row < n_rows; first_row += kRowsAtOnce) {
      const int n_here = min(n_rows - first_row, kRowsAtOnce), end = group < n_groups ? n_here : 0;
      Raw next[kAhead];
      auto read = [&](int first) {
#pragma unroll
        for (int ahead = 0; ahead < kAhead; ++ahead) {
          const int row = first + ahead * n_groups;
          next[ahead] = {};
          if (row >= end) continue;
          const TrackRow& from = shared.row[row];
          if (column.chan - from.first_channel < from.n_channels)
            next[ahead] = column.read(task, from.first_cell);
        }
      };
      const int own = threadIdx.x;
      __syncthreads();
      float t = 0;
      if (own < n_here) {
        const VisibilityRun run = task.runs[track.first_run + first_row + own];
        t = task.t[track.first_t + first_row + own];
        shared.row[own] = {run.row * task.block.n_chan, run.first_channel, run.n_channels, 0};
      }
      __syncthreads();
      read(group);
      if (own < n_here) shared.row[own].scale = shared.nodes.make_shares<kNodes>(t, shared.share[own]);
      __syncthreads();
      for (int first = group; first < end; first += kAhead * n_groups) {
        Raw now[kAhead];
#pragma unroll
        for (int ahead = 0; ahead < kAhead; ++ahead) now[ahead] = next[ahead];
        read(first + kAhead * n_groups);
#pragma unroll
        for (int ahead = 0; ahead < kAhead; ++ahead) {
          const int row = first + ahead * n_groups;
          if (row < end)
            add_row<kNodes>(
                sum, shared.share[row],
                column.finish<kPath>(task, now[ahead], shared.row[row].first_cell, shared.row[row].scale));
        }
      }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kNodes; ++k) shared.part[k][threadIdx.x] = sum[k];
    __syncthreads();
    for (int i = threadIdx.x; i < static_cast<int>(track.n_nodes) * n; i += kValueThreads) {
      const int k = i / n, at = i % n;
      float2 all = make_float2(0, 0);
      for (int g = 0; g < n_groups; ++g) {
        const float2 part = shared.part[k][g * n + at];
        all = make_float2(all.x + part.x, all.y + part.y);
      }
      to[std::size_t(k) * n_columns + first_column + at] = fold(track, all);
    }
  }
}

template <bool kPath>
__device__ __forceinline__ void copy_rows(const TrackValuesTask& task, const DeviceTrack& track) {
  const int n_columns = static_cast<int>(track.n_channels) * task.n_planes;
  for (int column = 0; column < n_columns; column += kValueThreads) {
    const int n = min(n_columns - column, kValueThreads), n_groups = kValueThreads / n;
    const int group = threadIdx.x / n, own = column + static_cast<int>(threadIdx.x) % n;
    if (group >= n_groups) continue;
    const Column value(task, track, own);
    const int plane = own % task.n_planes;
    for (int i = group; i < static_cast<int>(track.n_runs); i += n_groups) {
      const NodeRow& row = task.rows[track.first_row + i];
      const std::uint32_t chan = value.chan - row.first_channel;
      if (chan >= row.n_channels) continue;
      const std::uint32_t first_cell = task.runs[track.first_run + i].row * task.block.n_chan;
      task.values[std::size_t(row.first_place + chan) * task.n_planes + plane] =
          fold(track, value.finish<kPath>(task, value.read(task, first_cell), first_cell, 1));
    }
  }
}

template <bool kPath>
__global__ void __launch_bounds__(kValueThreads, kPath ? kBlocks - 1 : kBlocks)
    track_values(TrackValuesTask task) {
  __shared__ alignas(16) TrackShared shared;
  const DeviceTrack track = task.tracks[blockIdx.x];
  if (track.n_nodes == 0) return copy_rows<kPath>(task, track);
  shared.nodes.fill(track);
  with_nodes(track.n_nodes, [&](auto nodes) { sum_track<nodes.n, kPath>(task, track, shared); });
}

}  // namespace

void launch_track_values(const TrackValuesTask& task, cudaStream_t stream) {
  const auto kernel = task.block.path_m == nullptr ? track_values<false> : track_values<true>;
  kernel<<<task.n_tracks, kValueThreads, 0, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the sums over tracks");
}

}  // namespace apsyn::idg_cuda
