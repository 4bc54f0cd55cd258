// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA X stages on samples in the host's memory, for tests and benchmarks: samples are copied to the
// device before they are multiplied. In builds with CUDA only.
#pragma once

#include <complex>
#include <cstdint>

#include "kernels/correlate/cuda/float_stage.cuh"
#include "kernels/correlate/cuda/x_stage/device.cuh"
#include "libcore/base/error.h"
#include "libcore/base/view.h"

namespace apsyn::support {

inline void synchronise_x_stage() {
  cuda_check(cudaDeviceSynchronize(), "correlating");
}

/// Sums of int8 or 4-bit samples.
class HostXStage {
 public:
  /// max_time: samples of an add() at most.
  HostXStage(const XStageShape& shape, std::size_t max_time, int device_index,
             XStageKernel kernel = XStageKernel::automatic)
      : device_(device_index),
        stage_(shape, device_index, kernel),
        layout_(stage_.layout(max_time)),
        raw_(max_time * shape.n_chan * shape.n_input),
        packed_(stage_.allocate(layout_)) {}

  /// Copies samples [time][chan][input][re, im] to the device and adds their products.
  void add(View<const std::int8_t, 4> samples) {
    if (samples.size() > 2 * raw_.size()) throw UsageError("an X stage of fewer samples");
    cuda_check(cudaSetDevice(device_), "choosing the device");
    cuda_check(cudaMemcpy(raw_.data(), samples.data(), samples.size(), cudaMemcpyHostToDevice),
               "copying samples");
    n_time_ = samples.extent(0);
    x_stage::PackTask task;
    task.in = reinterpret_cast<const std::uint8_t*>(raw_.data());
    task.n_time = static_cast<int>(n_time_);
    stage_.pack(task, layout_, packed_.data(), nullptr);
    repeat();
  }
  /// Adds the products of the last add()'s samples again, without a copy.
  void repeat() {
    if (n_time_ > 0) stage_.add(packed_.data(), layout_, n_time_, nullptr);
  }
  /// Writes sums [chan][pair][re, im], pairs i <= j row-major, and starts anew.
  void finish(View<std::int64_t, 3> sums) {
    stage_.finish_sums(sums.data(), nullptr);
    synchronise_x_stage();
  }
  /// Starts anew without the sums so far.
  void discard() { stage_.discard(); }
  void synchronise() { synchronise_x_stage(); }

 private:
  int device_;
  DeviceXStage stage_;
  x_layout::Layout layout_;
  std::size_t n_time_ = 0;           ///< in packed_
  DeviceArray<char2> raw_;           ///< [time][chan][input]
  DeviceArray<std::int8_t> packed_;  ///< layout_
};

/// Sums of float32 samples.
class HostFloatStage {
 public:
  HostFloatStage(const FloatStageShape& shape, int device_index)
      : n_input_(shape.n_input), stage_(shape, device_index) {}

  /// Copies samples [chan][spectrum][input] to the device and adds their products.
  void add(View<const std::complex<float>, 3> samples) {
    if (samples_.size() < samples.size()) samples_ = DeviceArray<float2>(samples.size());
    cuda_check(
        cudaMemcpy(samples_.data(), samples.data(), samples.size() * sizeof(float2), cudaMemcpyHostToDevice),
        "copying samples");
    stage_.add(samples_.data(), samples.extent(1) * n_input_, samples.extent(1), nullptr);
  }
  /// Adds the products of the last up to 1024 spectra of the last add() again, without a copy.
  void repeat() { stage_.repeat(nullptr); }
  /// Writes sums [chan][pair][re, im], pairs i <= j row-major, and starts anew.
  void finish(View<double, 3> sums) {
    stage_.finish_sums(sums.data(), nullptr);
    synchronise_x_stage();
  }
  void synchronise() { synchronise_x_stage(); }

 private:
  std::size_t n_input_;
  DeviceFloatStage stage_;
  DeviceArray<float2> samples_;  ///< [chan][spectrum][input]
};

}  // namespace apsyn::support
