// SPDX-License-Identifier: GPL-3.0-or-later
// Computes means from the X stage's sums and copies them to a caller's memory.
#pragma once

#include <complex>
#include <optional>

#include "kernels/common/cuda/transfer.h"
#include "kernels/correlate/cuda/x_stage/means.cuh"

namespace apsyn {

/// Where means go: pinned host memory or device memory, [baseline][chan / n_average][product] as
/// VisibilityRecord.
struct MeanOutput {
  std::complex<float>* data = nullptr;
  float* weight = nullptr;
  /// The stream for copies; without one, that of the sums. With a separate stream, sums need not wait for
  /// copies.
  std::optional<cudaStream_t> stream{};
};

class MeanBuffers {
 public:
  /// Queues the means of `sums`; fill in all of `task` but data and weight. std::logic_error when its
  /// antennas do not match the sums' inputs or channels cannot be divided into averages.
  template <class Sums>
  void write(const Sums& sums, const x_stage::MeanTask& task, const MeanOutput& output, cudaStream_t stream) {
    x_stage::MeanTask to_buffers = task;
    const std::size_t size = reserve(sums.n_input, to_buffers);
    if (size == 0) return;
    if (copied_) copied_->hold(stream);  // what was made before has left the buffers
    launch_means(sums, to_buffers, stream);
    copy(size, output, stream);
  }

 private:
  std::size_t reserve(int n_input, x_stage::MeanTask& task);
  void copy(std::size_t size, const MeanOutput& output, cudaStream_t stream);

  DeviceArray<float2> data_;
  DeviceArray<float> weight_;
  std::optional<Event> made_, copied_;
};

}  // namespace apsyn
