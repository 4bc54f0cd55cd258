// SPDX-License-Identifier: GPL-3.0-or-later
// The X stage on float32 for samples that are already on the device: register tiles of fused multiply-adds,
// and the designs of Wayth et al. (2009), section 4, for comparison. All work is queued on the caller's
// stream; calls on different streams must be ordered by events.
//
//   S_ij(chan) = sum_t E_i(t) conj(E_j(t)),  i <= j,  input = ant * n_pol + pol
//
// Sums are float64 between calls; the register kernel's error is about 2e-7 of the sum of the products'
// magnitudes for integrations of any length, the others' about sqrt(1024 / 3) 2^-25 = 6e-7.
#pragma once

#include <cuda_runtime.h>

#include "kernels/common/cuda/array.h"
#include "kernels/correlate/cuda/float_stage_kernels.cuh"
#include "kernels/correlate/fx_engine.h"

namespace apsyn {

struct FloatStageShape {
  std::size_t n_chan = 0, n_input = 0;
  FloatAlgorithm algorithm = FloatAlgorithm::register_tiles;
};

class DeviceFloatStage {
 public:
  /// DeviceError without the device; UsageError for an empty shape, or for more than 4096 inputs with an
  /// algorithm other than register tiles.
  DeviceFloatStage(const FloatStageShape& shape, int device_index);

  /// Adds the products of samples [chan][spectrum][input], channels chan_stride elements apart.
  void add(const float2* samples, std::size_t chan_stride, std::size_t n_spectra, cudaStream_t stream);
  /// Adds the products of the last piece, of at most 1024 spectra, once more.
  void repeat(cudaStream_t stream);

  /// Writes sums [chan][pair i <= j, row-major][re, im] to pinned or device memory, and clears them.
  void finish_sums(double* sums, cudaStream_t stream);
  /// Turns sums into means, like DeviceXStage::finish_means.
  void finish_means(x_stage::MeanTask task, cudaStream_t stream);
  void discard() { empty_ = true; }

  std::size_t n_pairs() const { return shape_.n_input * (shape_.n_input + 1) / 2; }

 private:
  void multiply(cudaStream_t stream);
  void prepare_sums(cudaStream_t stream);

  FloatStageShape shape_;
  int device_, group_ = 1;
  bool empty_ = true;               ///< nothing in the sums yet
  x_stage::FloatTask task_;         ///< of the last piece
  DeviceArray<double2> sums_;       ///< float_stage_kernels.cuh
  DeviceArray<double2> collected_;  ///< [chan][pair]
  DeviceArray<float2> transposed_;  ///< [spectrum][input][chan], of the paper's designs
  DeviceArray<x_stage::InputPair> pairs_;
};

}  // namespace apsyn
