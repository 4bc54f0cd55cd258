// SPDX-License-Identifier: GPL-3.0-or-later
// The X stage on float32 for samples that are on the device already. Everything is queued on the caller's
// stream; calls on different streams must be ordered by events.
#pragma once

#include <cuda_runtime.h>

#include "kernels/common/cuda/array.h"
#include "kernels/correlate/cuda/float_stage_kernels.cuh"
#include "kernels/correlate/cuda/mean_buffers.cuh"
#include "kernels/correlate/float_stage_cuda.h"

namespace apsyn {

class DeviceFloatStage {
 public:
  DeviceFloatStage(const FloatStageShape& shape, int device_index);

  /// Adds the products of samples [chan][spectrum][input], channels chan_stride elements apart.
  void add(const float2* samples, std::size_t chan_stride, std::size_t n_spectra, cudaStream_t stream);
  /// The products of the last piece of at most 1024 spectra again.
  void repeat(cudaStream_t stream);

  /// Writes sums [chan][pair i <= j, row-major][re, im] to pinned or device memory and starts anew.
  void finish_sums(double* sums, cudaStream_t stream);
  /// Turns sums into means, like DeviceXStage::finish_means.
  void finish_means(x_stage::MeanTask task, const MeanOutput& output, cudaStream_t stream);
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
  MeanBuffers means_;
};

}  // namespace apsyn
