// SPDX-License-Identifier: GPL-3.0-or-later
// Heights of the planes of a set on the device, and selection of high pixels. For host code with CUDA only.
#pragma once

#include "kernels/clean/clark_loop.h"
#include "kernels/clean/cuda/component_loop.cuh"

namespace apsyn::clean_cuda {

class PlaneSearch {
 public:
  /// All work goes to the stream. `set` must outlive it.
  PlaneSearch(const PlaneSet& set, cudaStream_t stream);

  /// values [plane][pixel], weight [pixel] or null = 1, on the device.
  SearchPlanes planes_of(float* values, const float* weight) const;
  /// One plane that is searched as it is.
  SearchPlanes single(float* values, const float* weight) const;

  float highest(const SearchPlanes& planes);
  Heights heights(const SearchPlanes& planes);
  /// The pixels above the cutoff. They are valid until the next ones are selected.
  DeviceComponentLoop::Pixels select(const SearchPlanes& planes, float cutoff, const DevicePsfs& psfs);

 private:
  const PlaneSet& set_;
  std::size_t n_pixel_;
  cudaStream_t stream_;
  DeviceArray<float> group_weight_, one_;
  Upload<PeakKey> peak_;
  Upload<std::uint32_t> counts_, index_;
  Upload<float> values_, weight_;
};

}  // namespace apsyn::clean_cuda
