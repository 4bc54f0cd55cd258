// SPDX-License-Identifier: GPL-3.0-or-later
// The product of tile_product.cuh over all channels and pixels, as many at a time as memory is set aside for.
#pragma once

#include <functional>

#include "kernels/epic/cuda/sky.cuh"

namespace apsyn::epic_cuda {

class TileImager {
 public:
  /// `sky` must outlive it.
  explicit TileImager(DeviceSky& sky) : sky_(sky) {}

  /// Queues the columns of n_channel channels of the plan from first_channel on.
  using FillColumns = std::function<void(int first_channel, int n_channel, float* columns)>;
  /// sums of the sky += those of `n` spectra or antennas in channels first_channel .. + n_channel - 1.
  /// Weights are made again each time: they cost as much as one spectrum.
  void image(ColumnKind kind, int n, int first_channel, int n_channel, const FillColumns& fill,
             cudaStream_t stream);

 private:
  DeviceSky& sky_;
  Upload<float> columns_, weights_;
};

}  // namespace apsyn::epic_cuda
