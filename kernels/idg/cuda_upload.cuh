// SPDX-License-Identifier: GPL-3.0-or-later
// Host memory to the device while the device computes. For host code with CUDA only.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/common/device_transfer.h"
#include "kernels/idg/grid_memory.h"

namespace apsyn::idg_cuda {

/// Copies by way of a ring of pinned pieces, which threads fill part by part: whoever fills the last part of
/// a piece sends it.
class Uploader {
 public:
  /// For the current device.
  explicit Uploader(unsigned n_threads);
  void copy(void* device, const void* host, std::size_t bytes);
  template <class T>
  void copy(Upload<T>& to, const void* host, std::size_t size) {
    if (size > 0) copy(to.reserve(size), host, size * sizeof(T));
  }
  /// The first of every n_alike values where all n_alike are the same; false, and anything in `to`, where
  /// they are not.
  bool copy_alike(Upload<float>& to, const float* host, std::size_t size, std::size_t n_alike);
  /// Work given to the stream from now on sees everything that was copied.
  void hold(cudaStream_t stream);

 private:
  /// Pieces are large enough that what a transfer costs besides counts little, parts small enough that all
  /// threads work on a piece.
  static constexpr std::size_t kPartBytes = std::size_t{512} << 10, kParts = 16, kPieces = 16,
                               kPieceBytes = kPartBytes * kParts;
  static_assert(kPieceBytes * kPieces == kUploadHostBytes);
  /// Piece::n_sent once a transfer has failed: nobody waits any more.
  static constexpr std::size_t kFailed = std::numeric_limits<std::size_t>::max() / 2;
  struct Piece {
    std::atomic<std::size_t> n_filled{0};  ///< parts
    std::atomic<std::size_t> n_sent{0};    ///< times
    std::atomic<std::size_t> n_free{0};    ///< times that it could be filled: the first at once
    Event sent;
    std::mutex waiting;  ///< for `sent`
  };
  /// fill(to, first, n) writes the bytes from `first` on.
  using Fill = std::function<void(std::byte*, std::size_t, std::size_t)>;
  void send(void* device, std::size_t bytes, const Fill& fill);
  /// Until the device has read what the piece held in its turns before this one.
  static void wait_until_free(Piece& piece, std::size_t turn);

  unsigned n_threads_;
  int device_ = 0;
  CopyStream stream_;
  std::unique_ptr<std::byte[], FreePinned> buffer_;
  std::array<Piece, kPieces> pieces_;
  Event all_;
  std::size_t next_ = 0;  ///< piece, counted from the first ever
};

}  // namespace apsyn::idg_cuda
