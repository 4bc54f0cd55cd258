// SPDX-License-Identifier: GPL-3.0-or-later
// A sliding window over a voltage stream in device memory. Gulps go to one of two buffers in turn, behind the
// rest of the one before that is still needed, while kernels work on the other: straight from the blocks'
// memory where that is pinned and holds what the device wants, otherwise through pinned memory of the
// window's own. For host code with CUDA only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "kernels/channelise/cuda/kernels.cuh"
#include "kernels/common/cuda/transfer.h"
#include "libcore/voltage/voltage.h"

namespace apsyn {

struct WindowPlan {
  std::size_t n_chan = 1, n_input = 1;
  bool real = false;
  f_stage::SampleFormat format = f_stage::SampleFormat::int8;
  std::size_t gulp_samples = 1;
  std::size_t rest_samples = 1;  ///< of a gulp that may still be needed when the next comes
  unsigned n_threads = 1;

  std::size_t row_bytes() const;  ///< of one time sample
  std::uint64_t device_bytes() const { return 2 * (gulp_samples + rest_samples) * row_bytes(); }
};

class DeviceSampleWindow {
 public:
  explicit DeviceSampleWindow(const WindowPlan& plan);

  /// Takes a block, with the arguments and the result of DeviceSpectrumSource::append.
  std::size_t append(const VoltageBlock& block, std::size_t first);
  /// Makes what has been appended available, less than a gulp or not.
  void flush();
  /// What waits until the blocks appended so far are no longer read; empty where they are not.
  std::function<void()> taken();
  void release(std::int64_t sample) { released_ = sample; }

  std::int64_t begin() const { return begin_; }  ///< first sample on the device
  std::int64_t end() const { return end_; }      ///< one past the last, the ones on their way included
  /// Work queued on `stream` from now on may read sample begin() and the ones behind it.
  f_stage::SampleWindow use(cudaStream_t stream) const;
  /// Tells the window that the work on it has been queued.
  void used(cudaStream_t stream);

 private:
  struct Half {
    DeviceArray<std::uint8_t> samples;
    std::unique_ptr<std::uint8_t[], FreePinned> staging;
    Event sent, used;
    bool busy = false, read = false;  // whether the events mean anything
  };
  void gather(const VoltageBlock& block, std::size_t first, std::size_t n, std::uint8_t* to) const;

  WindowPlan plan_;
  Half halves_[2];
  int current_ = 0;           // of the samples begin_ .. end_
  std::size_t rest_now_ = 0;  // samples of the current half before its gulp
  std::size_t gathered_ = 0;  // in the staging memory of the other half
  std::int64_t begin_ = 0, end_ = 0, released_ = 0;
  bool empty_ = true;
  bool reading_ = false;  // the memory of blocks that taken() has not been asked about
  CopyStream copies_;
};

}  // namespace apsyn
