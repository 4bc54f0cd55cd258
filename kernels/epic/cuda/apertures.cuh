// SPDX-License-Identifier: GPL-3.0-or-later
// ApertureWeights (aperture.h) on a device. For host code with CUDA only.
#pragma once

#include "kernels/common/cuda/transfer.h"
#include "kernels/epic/aperture.h"
#include "kernels/epic/cuda/tile_product.cuh"

namespace apsyn::epic_cuda {

/// Does nothing without apertures; functions that return a value must not be called then.
class DeviceApertures {
 public:
  /// `plan` must outlive it.
  explicit DeviceApertures(const EpicPlan& plan);
  bool any() const { return host_.any(); }
  int n_kind() const { return static_cast<int>(host_.n_kind()); }
  const std::uint32_t* kinds() const { return kinds_.data(); }  ///< [ant]
  /// Begins an accumulation.
  void start() { host_.start(); }
  /// Notes which antennas are valid.
  void add(const SpectraBlock& validity) { host_.add(validity); }
  /// Copies, on the default stream, what is heard at these pixels.
  void look(const SkyPixels& pixels);
  /// Weights of channels from first_channel on are those of the apertures.
  void put(WeightTask& task, int first_channel) const;
  /// sums [channel][n_stride][4] += sign times A of autos [channel][kind][4].
  void add_autos(const double* autos, double sign, double* sums, std::size_t n_stride, cudaStream_t stream);
  /// Planes [image channel][plane][y][x] that were divided by pairs are divided by W.
  void scale(const EpicWeights& weights, float* planes, cudaStream_t stream);

 private:
  const EpicPlan& plan_;
  ApertureWeights host_;
  std::size_t n_pixel_ = 0;
  Upload<std::uint32_t> kinds_, index_;
  Upload<float2> heard_;  // [channel][kind][pixel]
  Upload<double> counts_;
};

}  // namespace apsyn::epic_cuda
