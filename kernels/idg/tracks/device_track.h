// SPDX-License-Identifier: GPL-3.0-or-later
// Tracks as a device finds them (cuda/tracks/tracks.cuh) and the host reads them.
#pragma once

#include <cstdint>

#include "kernels/idg/partition/sub_table.h"

namespace apsyn::idg_cuda {

/// Consecutive runs of a sub-table with one baseline and one sign of w. Its channels are those of all its
/// runs; channels that a run lacks are flagged.
struct DeviceTrack {
  std::uint32_t first_run, n_runs, first_channel, n_channels;
  std::uint32_t n_nodes;      ///< 0: the runs are taken as they are
  std::uint32_t first_row;    ///< in DeviceTracks::rows, nodes or runs
  std::uint32_t first_place;  ///< in the values of places, [node][channel] or run after run
  std::uint32_t first_t;      ///< in DeviceTracks::t
  std::uint32_t folded;

  APSYN_CUT std::uint32_t n_rows() const { return n_nodes == 0 ? n_runs : n_nodes; }
};

/// A run of a track; those of all tracks stand one after the other from DeviceTrack::first_t on.
struct TrackRun {
  std::uint32_t row, first_channel, n_channels;
  float t;  ///< along the track, in [-1, 1]
};

}  // namespace apsyn::idg_cuda
