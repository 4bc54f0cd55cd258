// SPDX-License-Identifier: GPL-3.0-or-later
// The pairs of antennas off the grid (fft/off_grid.h) on a device. For host code with CUDA only.
#pragma once

#include "kernels/common/cuda/transfer.h"
#include "kernels/epic/cuda/apertures.cuh"
#include "kernels/epic/fft/cuda/off_grid.cuh"
#include "kernels/epic/fft/off_grid.h"
#include "kernels/epic/sky_pixels.h"

namespace apsyn::epic_fft {

/// Without such antennas it does nothing at all.
class DeviceOffGridPairs {
 public:
  /// `plan` must outlive it.
  explicit DeviceOffGridPairs(const EpicPlan& plan);
  bool any() const { return task_.n_off > 0; }
  /// Copies, on the default stream, where pixels and antennas are.
  void aim(const EpicGeometry& geometry, const SkyPixels& pixels);
  /// Begins an accumulation.
  void start(cudaStream_t stream);
  void add(const epic_cuda::Samples& samples, cudaStream_t stream);
  /// planes [image channel][plane][y][x] += the pairs times the scale of each image channel.
  void image(const double* scales, const epic_cuda::DeviceApertures& apertures, float* planes,
             cudaStream_t stream);

 private:
  const EpicPlan& plan_;
  OffGridTask task_;
  OffGridImageTask image_;
  Upload<std::uint32_t> off_, rank_, index_;
  Upload<double2> gains_, sums_;
  Upload<float2> matrices_;
  Upload<double> powers_, hz_, unit_, seconds_;
};

}  // namespace apsyn::epic_fft
