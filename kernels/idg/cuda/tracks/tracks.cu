// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cuda/tracks/tracks.cuh"

#include "kernels/common/cuda/launch.cuh"
#include "kernels/idg/cuda/tracks/divide_tracks.cuh"

namespace apsyn::idg_cuda {
namespace {

using idg::DeviceCutInput;
using idg::NodeLimits;
using idg::SubTable;
using idg::TrackCurve;

/// Tracks are used only if there are at most this many places for each visibility; otherwise copying the rows
/// that are not on tracks costs more than tracks save.
constexpr double kMaxPlaces = 0.6;

/// A warp for each sub-table.
__global__ void count_tracks(NodeLimits limits, DeviceCutInput rows, const VisibilityRun* runs,
                             const SubTable* tables, std::uint32_t n, std::uint32_t* n_tracks) {
  const std::size_t i = this_thread() / 32;
  if (i >= n) return;
  std::uint32_t count = 0;
  divide(limits, rows, runs, tables[i],
         [&](std::uint32_t, std::uint32_t, std::uint32_t pieces, const Channels&) { count += pieces; });
  if (threadIdx.x % 32 == 0) n_tracks[i] = count;
}

__global__ void list_tracks(NodeLimits limits, DeviceCutInput rows, const VisibilityRun* runs,
                            const SubTable* tables, std::uint32_t n, const std::uint32_t* end_track,
                            DeviceTrack* tracks, std::uint32_t* n_t) {
  const std::size_t i = this_thread() / 32;
  if (i >= n) return;
  std::uint32_t to = i == 0 ? 0 : end_track[i - 1];
  divide(limits, rows, runs, tables[i],
         [&](std::uint32_t begin, std::uint32_t n_runs, std::uint32_t pieces, const Channels& channels) {
           for (std::uint32_t piece = threadIdx.x % 32; piece < pieces; piece += 32) {
             const auto first = static_cast<std::uint32_t>(std::uint64_t(n_runs) * piece / pieces);
             DeviceTrack track{};
             track.first_run = begin + first;
             track.n_runs = static_cast<std::uint32_t>(std::uint64_t(n_runs) * (piece + 1) / pieces) - first;
             track.first_channel = channels.first;
             track.n_channels = channels.end - channels.first;
             track.folded = is_folded(rows, runs[track.first_run].row);
             tracks[to + piece] = track;
             n_t[to + piece] = track.n_runs;
           }
           to += pieces;
         });
}

struct RunRows {
  const DeviceCutInput& rows;
  const VisibilityRun* runs;
  __device__ __forceinline__ void uvw(std::uint32_t i, double* metres) const {
    read_row(rows, runs[i].row, metres);
  }
};

/// Neighbouring lanes that fit a track together.
struct FitLanes {
  static constexpr std::uint32_t n = 8;
  std::uint32_t index = threadIdx.x % n;
  unsigned members = 0xffu << (threadIdx.x % 32 / n * n);

  template <class Join>
  __device__ __forceinline__ double join(double value, const Join& join) const {
    for (int step = n / 2; step > 0; step /= 2) value = join(value, __shfl_xor_sync(members, value, step));
    return value;
  }
  __device__ __forceinline__ double sum(double value) const {
    return join(value, [](double a, double b) { return a + b; });
  }
  __device__ __forceinline__ double least(double value) const {
    return join(value, [](double a, double b) { return idg::lesser(a, b); });
  }
  __device__ __forceinline__ double most(double value) const {
    return join(value, [](double a, double b) { return idg::greater(a, b); });
  }
  __device__ __forceinline__ bool all(bool value) const { return __all_sync(members, value); }
};

__global__ void fit_tracks(NodeLimits limits, DeviceCutInput rows, const VisibilityRun* runs, std::uint32_t n,
                           const std::uint32_t* end_t, DeviceTrack* tracks, TrackCurve* curves, float* t,
                           std::uint32_t* n_rows, std::uint32_t* n_places) {
  const std::size_t i = this_thread() / FitLanes::n;
  if (i >= n) return;
  const FitLanes lanes;
  DeviceTrack track = tracks[i];
  const VisibilityRun* own = runs + track.first_run;
  track.first_t = i == 0 ? 0 : end_t[i - 1];
  double visibilities = 0;
  for (std::uint32_t k = lanes.index; k < track.n_runs; k += FitLanes::n) visibilities += own[k].n_channels;
  const auto n_visibilities = static_cast<std::uint32_t>(lanes.sum(visibilities));
  if (4 <= track.n_runs && track.n_runs <= idg::kMaxTrackRows) {
    const Channels channels{track.first_channel, track.first_channel + track.n_channels};
    float* own_t = t + track.first_t;
    TrackCurve curve;
    const std::uint32_t n_nodes =
        fit_track(lanes, limits, channels.max_wavenumber(rows), RunRows{rows, own}, track.n_runs, curve,
                  [&](std::uint32_t row, double place) { own_t[row] = static_cast<float>(place); });
    // Where much is flagged, or there are almost as many nodes as rows, gridding the rows as they are is
    // faster.
    if (4 * n_nodes * track.n_channels <= 3 * n_visibilities) track.n_nodes = n_nodes;
    if (lanes.index == 0) curves[i] = curve;
  }
  if (lanes.index != 0) return;
  tracks[i] = track;
  n_rows[i] = track.n_rows();
  n_places[i] = track.n_nodes == 0 ? n_visibilities : track.n_nodes * track.n_channels;
}

/// A warp for each track.
__global__ void place_nodes(DeviceCutInput rows, const VisibilityRun* runs, std::uint32_t n,
                            const TrackCurve* curves, const std::uint32_t* end_row,
                            const std::uint32_t* end_place, DeviceTrack* tracks, NodeRow* nodes) {
  const std::size_t i = this_thread() / 32;
  if (i >= n) return;
  const DeviceTrack track = tracks[i];
  const std::uint32_t first_row = i == 0 ? 0 : end_row[i - 1], first_place = i == 0 ? 0 : end_place[i - 1];
  const int lane = threadIdx.x % 32;
  if (lane == 0) {
    tracks[i].first_row = first_row;
    tracks[i].first_place = first_place;
  }
  std::uint32_t place = first_place;  // of the next 32 rows
  for (std::uint32_t first = 0; first < track.n_rows(); first += 32) {
    const std::uint32_t k = first + lane;
    NodeRow out{};
    if (k < track.n_rows() && track.n_nodes != 0) {
      out.u_m = curves[i].at(idg::chebyshev_node(k, track.n_nodes), 0);
      out.v_m = curves[i].at(idg::chebyshev_node(k, track.n_nodes), 1);
      out.w_m = curves[i].at(idg::chebyshev_node(k, track.n_nodes), 2);
      out.first_channel = track.first_channel;
      out.n_channels = track.n_channels;
    } else if (k < track.n_rows()) {
      const VisibilityRun run = runs[track.first_run + k];
      double metres[3];
      read_row(rows, run.row, metres);
      out.u_m = metres[0], out.v_m = metres[1], out.w_m = metres[2];
      out.first_channel = run.first_channel;
      out.n_channels = run.n_channels;
    }
    std::uint32_t sum = out.n_channels;
    for (int step = 1; step < 32; step *= 2) {
      const std::uint32_t other = __shfl_up_sync(~0u, sum, step);
      if (lane >= step) sum += other;
    }
    out.first_place = place + sum - out.n_channels;
    if (k < track.n_rows()) nodes[first_row + k] = out;
    place += __shfl_sync(~0u, sum, 31);
  }
}

/// Into pinned memory, not by a copy, which would wait for all that is on its way to the host.
__global__ void report(const std::uint32_t* sums, std::uint32_t n, std::uint32_t* to) {
  *to = sums[n - 1];
}

}  // namespace

void TrackFinder::find(const NodeLimits& limits, const DeviceCutInput& rows, const idg::DeviceTables& tables,
                       DeviceTracks& out) {
  out.n_tracks = out.n_rows = out.n_places = 0;
  const std::uint32_t n_tables = tables.n_tables;
  if (n_tables == 0 || rows.n_chan > kMaxNodeChannels) return;
  const SubTable* from = tables.tables.data();
  const VisibilityRun* runs = tables.runs.data();
  auto read = [&](std::uint32_t* to, const Upload<std::uint32_t>& sums, std::uint32_t n) {
    report<<<1, 1, 0, stream_>>>(sums.data(), n, to);
    launched("counting tracks");
  };
  std::uint32_t* end_track = out.end_track.reserve(n_tables);
  count_tracks<<<blocks_of(std::size_t(n_tables) * 32), kThreads, 0, stream_>>>(limits, rows, runs, from,
                                                                                n_tables, end_track);
  launched("counting tracks");
  sort_.inclusive_sum(end_track, end_track, n_tables);
  read(host_.get(), out.end_track, n_tables);
  cuda_check(cudaStreamSynchronize(stream_), "counting tracks");
  const std::uint32_t n_tracks = host_[0];
  DeviceTrack* tracks = out.tracks.reserve(n_tracks);
  std::uint32_t* end_t = end_t_.reserve(n_tracks);
  list_tracks<<<blocks_of(std::size_t(n_tables) * 32), kThreads, 0, stream_>>>(
      limits, rows, runs, from, n_tables, end_track, tracks, end_t);
  launched("listing tracks");
  sort_.inclusive_sum(end_t, end_t, n_tracks);
  TrackCurve* curves = curves_.reserve(n_tracks);
  std::uint32_t *end_row = out.end_row.reserve(n_tracks), *end_place = out.end_place.reserve(n_tracks);
  fit_tracks<<<blocks_of(std::size_t(n_tracks) * FitLanes::n), kThreads, 0, stream_>>>(
      limits, rows, runs, n_tracks, end_t, tracks, curves, out.t.reserve(tables.n_runs), end_row, end_place);
  launched("fitting tracks");
  sort_.inclusive_sum(end_row, end_row, n_tracks);
  sort_.inclusive_sum(end_place, end_place, n_tracks);
  read(host_.get(), out.end_row, n_tracks);
  read(host_.get() + 1, out.end_place, n_tracks);
  cuda_check(cudaStreamSynchronize(stream_), "fitting tracks");
  if (host_[1] > kMaxPlaces * static_cast<double>(tables.n_visibilities)) return;
  out.n_tracks = n_tracks;
  out.n_rows = host_[0];
  out.n_places = host_[1];
  place_nodes<<<blocks_of(std::size_t(n_tracks) * 32), kThreads, 0, stream_>>>(
      rows, runs, n_tracks, curves, end_row, end_place, tracks, out.rows.reserve(out.n_rows));
  launched("placing nodes");
}

}  // namespace apsyn::idg_cuda
