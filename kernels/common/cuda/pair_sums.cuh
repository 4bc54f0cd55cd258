// SPDX-License-Identifier: GPL-3.0-or-later
// Sums of E_i E_j* over spectra that are on a device: what an X stage offers to others. For host code with
// CUDA only.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/common/cuda/spectra.cuh"
#include "kernels/common/cuda/tile_sums.cuh"

namespace apsyn {

class DevicePairSums {
 public:
  virtual ~DevicePairSums() = default;

  /// All queue on `stream`. Integers [spectrum][channel][input]; valid [spectrum][ant of n_pol inputs]: 0 =
  /// taken for 0; null = none is.
  virtual void add(const DeviceSamples& samples, const std::uint8_t* valid, std::size_t n_pol,
                   std::size_t n_spectra, cudaStream_t stream) = 0;
  /// Floats [channel][spectrum][input], channels channel_stride values apart.
  virtual void add(const float2* samples, std::size_t channel_stride, std::size_t n_spectra,
                   cudaStream_t stream) = 0;
  /// sums [channel][pair i <= j, row-major] on the device = or, where `add`, += all that was added, which is
  /// forgotten. Sums of integers are exact.
  virtual void finish(double2* sums, bool add, cudaStream_t stream) = 0;
  /// Instead of finish(): all that was added, which is forgotten, where it stands until more is added; none
  /// where it stands in more than one place.
  virtual std::optional<x_stage::TileSums> take_tiles() = 0;
};

}  // namespace apsyn
