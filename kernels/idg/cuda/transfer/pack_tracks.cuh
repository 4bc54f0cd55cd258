// SPDX-License-Identifier: GPL-3.0-or-later
// Packs predictions at the nodes of tracks into the layout that the host reads. For device and host code with
// CUDA.
#pragma once

#include "kernels/idg/cuda/tracks/tracks.cuh"
#include "kernels/idg/tracks/add_tracks.h"

namespace apsyn::idg_cuda {

struct PackTracksTask {
  const DeviceTracks* tracks;
  const VisibilityRun* runs;
  const std::uint32_t* station;  ///< [row][p, q]; null: all rows are of one baseline
  int n_planes;
  bool adjoint;          ///< values are matrices XX XY YX YY of A-terms
  const float2* values;  ///< [place][plane], folded
};

class TrackPacker {
 public:
  explicit TrackPacker(cudaStream_t stream) : stream_(stream), sort_(stream) {}
  /// `to` has layout.bytes() bytes. Tracks are sorted by baseline and first row.
  void pack(const PackTracksTask& task, const PredictedLayout& layout, std::byte* to);

 private:
  cudaStream_t stream_;
  DeviceSort sort_;
};

}  // namespace apsyn::idg_cuda
