// SPDX-License-Identifier: GPL-3.0-or-later
// Host memory to the device while the device computes. For host code with CUDA only.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/common/device_transfer.h"

namespace apsyn::idg_cuda {

/// Copies by way of a ring of pinned pieces: every thread fills one and sends it.
class Uploader {
 public:
  /// For the current device.
  explicit Uploader(unsigned n_threads);
  void copy(void* device, const void* host, std::size_t bytes);
  template <class T>
  void copy(Upload<T>& to, const void* host, std::size_t size) {
    if (size > 0) copy(to.reserve(size), host, size * sizeof(T));
  }
  /// Work given to the stream from now on sees everything that was copied.
  void hold(cudaStream_t stream);

 private:
  /// Large enough that the calls to the driver count little.
  static constexpr std::size_t kPieceBytes = std::size_t{2} << 20, kPieces = 32;
  struct Piece {
    std::mutex filling;
    Event sent;
  };
  unsigned n_threads_;
  int device_ = 0;
  CopyStream stream_;
  std::unique_ptr<std::byte[], FreePinned> buffer_;
  std::array<Piece, kPieces> pieces_;
  Event all_;
  std::size_t next_ = 0;
};

}  // namespace apsyn::idg_cuda
