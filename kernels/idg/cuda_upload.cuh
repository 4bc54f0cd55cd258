// SPDX-License-Identifier: GPL-3.0-or-later
// Host memory to the device while the device computes. For host code with CUDA only.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "kernels/common/device_transfer.h"

namespace apsyn::idg_cuda {

/// Copies by way of a ring of pinned buffers, filled by all threads while the one before travels.
class Uploader {
 public:
  explicit Uploader(unsigned n_threads);
  void copy(void* device, const void* host, std::size_t bytes);
  template <class T>
  void copy(Upload<T>& to, const void* host, std::size_t size) {
    if (size > 0) copy(to.reserve(size), host, size * sizeof(T));
  }
  template <class T>
  void copy(Upload<T>& to, const std::vector<T>& host) {
    copy(to, host.data(), host.size());
  }
  /// Work given to the stream from now on sees everything that was copied.
  void hold(cudaStream_t stream);

 private:
  static constexpr std::size_t kBufferBytes = std::size_t{32} << 20, kBuffers = 3;
  unsigned n_threads_;
  CopyStream stream_;
  std::array<std::unique_ptr<std::byte[], FreePinned>, kBuffers> buffers_;
  std::array<Event, kBuffers> sent_;
  Event all_;
  std::size_t next_ = 0;
};

}  // namespace apsyn::idg_cuda
