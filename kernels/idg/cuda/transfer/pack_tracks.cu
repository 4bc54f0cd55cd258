// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/launch.cuh"
#include "kernels/idg/cuda/transfer/pack_tracks.cuh"

namespace apsyn::idg_cuda {
namespace {

/// Bits of station numbers; larger numbers are confused with others, which only costs time.
constexpr int kStationBits = 16, kRowBits = 32;

__global__ void track_keys(const DeviceTrack* tracks, const VisibilityRun* runs, const std::uint32_t* station,
                           std::uint32_t n, std::uint64_t* keys) {
  const std::size_t i = this_thread();
  if (i >= n) return;
  const std::uint32_t row = runs[tracks[i].first_run].row;
  std::uint64_t key = 0;
  if (station != nullptr)
    key = std::uint64_t(station[2 * std::size_t(row)] & 0xffff) << kStationBits |
          (station[2 * std::size_t(row) + 1] & 0xffff);
  keys[i] = key << kRowBits | row;
}

struct Packed {
  float2* values;
  TrackRun* runs;
  DeviceTrack* tracks;
};

/// A warp for each track.
__global__ void pack(const DeviceTrack* tracks, const std::uint32_t* order, const VisibilityRun* runs,
                     const float* t, std::uint32_t n, int n_planes, bool adjoint, const float2* values,
                     const std::uint32_t* end_place, Packed to) {
  const std::size_t i = this_thread() / 32;
  if (i >= n) return;
  const std::uint32_t lane = threadIdx.x % 32, index = order[i];
  const DeviceTrack track = tracks[index];
  if (lane == 0) to.tracks[i] = track;
  for (std::uint32_t k = lane; k < track.n_runs; k += 32) {
    const VisibilityRun run = runs[track.first_run + k];
    to.runs[track.first_t + k] = {run.row, run.first_channel, run.n_channels, t[track.first_t + k]};
  }
  const std::size_t first = std::size_t(track.first_place) * n_planes,
                    end = std::size_t(end_place[index]) * n_planes;
  for (std::size_t k = first + lane; k < end; k += 32) {
    const float2 value = values[k];
    // With A-terms a folded V is the adjoint matrix: XY and YX change places.
    const std::size_t plane = k % n_planes;
    const bool turned = adjoint && track.folded && (plane == 1 || plane == 2);
    to.values[turned ? k + 3 - 2 * plane : k] = make_float2(value.x, track.folded ? -value.y : value.y);
  }
}

}  // namespace

void TrackPacker::pack(const PackTracksTask& task, const PredictedLayout& layout, std::byte* to) {
  const DeviceTracks& from = *task.tracks;
  const std::uint32_t n = from.n_tracks;
  const DeviceTrack* tracks = from.tracks.data();
  sort_.begin(n);
  track_keys<<<blocks_of(n), kThreads, 0, stream_>>>(tracks, task.runs, task.station, n, sort_.keys(n));
  launched("sorting tracks");
  sort_.by_keys(n, task.station == nullptr ? kRowBits : kRowBits + 2 * kStationBits);
  const Packed packed{reinterpret_cast<float2*>(to), reinterpret_cast<TrackRun*>(to + layout.first_run()),
                      reinterpret_cast<DeviceTrack*>(to + layout.first_track())};
  idg_cuda::pack<<<blocks_of(std::size_t(n) * 32), kThreads, 0, stream_>>>(
      tracks, sort_.order(), task.runs, from.t.data(), n, task.n_planes, task.adjoint, task.values,
      from.end_place.data(), packed);
  launched("packing tracks");
}

}  // namespace apsyn::idg_cuda
