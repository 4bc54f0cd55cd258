// SPDX-License-Identifier: GPL-3.0-or-later
// Interpolates the rows of tracks from predictions at their nodes and adds them to the caller's data, on the
// host: the alternative to track_rows.cu, which does so on a device.
#pragma once

#include <complex>
#include <cstddef>

#include "kernels/idg/tracks/device_track.h"

namespace apsyn::idg_cuda {

/// A device's predictions for some rows, in host memory. 64 bytes behind the values must be readable. Tracks
/// of a baseline stand together, in the order of their rows: rows of the next are then in pages of memory
/// that have just been used.
struct PredictedTracks {
  const DeviceTrack* tracks = nullptr;
  std::size_t n_tracks = 0;
  const TrackRun* runs = nullptr;
  const std::complex<float>* values = nullptr;  ///< [place][plane], not folded
  std::size_t n_chan = 0, n_planes = 0;
};

/// Offsets of the arrays in one piece of memory: values, runs, tracks.
struct PredictedLayout {
  std::size_t n_places = 0, n_runs = 0, n_tracks = 0, n_planes = 0;

  std::size_t first_run() const { return n_places * n_planes * sizeof(std::complex<float>); }
  std::size_t first_track() const { return first_run() + n_runs * sizeof(TrackRun); }
  std::size_t bytes() const { return first_track() + n_tracks * sizeof(DeviceTrack); }
  PredictedTracks at(const std::byte* memory, std::size_t n_chan) const {
    return {reinterpret_cast<const DeviceTrack*>(memory + first_track()),
            n_tracks,
            reinterpret_cast<const TrackRun*>(memory + first_run()),
            reinterpret_cast<const std::complex<float>*>(memory),
            n_chan,
            n_planes};
  }
};

/// data [row][chan][plane] += the rows of these tracks,
///   V_i = sum_k L_k(t_i) V_k,        L_k Lagrange's polynomials of the nodes.
void add_tracks(const PredictedTracks& from, std::size_t first_track, std::size_t n_tracks,
                std::complex<float>* data);

}  // namespace apsyn::idg_cuda
