// SPDX-License-Identifier: GPL-3.0-or-later
// Arrays of the device to the host's memory. For host code with CUDA only.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <memory>
#include <mutex>

#include "kernels/common/device_transfer.h"
#include "kernels/idg/grid_memory.h"

namespace apsyn::idg_cuda {

/// From so many bytes on a copy is worth the ring's allocation, 20 ms.
constexpr std::size_t kWorthPinnedBytes = std::size_t{256} << 20;

/// Copies by way of a ring of pinned pieces: every thread fetches one and uses it, while others travel.
class Downloader {
 public:
  /// For the current device.
  explicit Downloader(unsigned n_threads);
  /// Work given to the other stream so far is done before anything that is added from now on is fetched.
  void after(const Event& event) const { event.hold(stream_.get()); }
  /// to[i] += device[i]; returns when all are added.
  template <class T, class Out>
  void add(const void* device, std::complex<Out>* to, std::size_t n);
  void copy(const void* device, void* to, std::size_t bytes);

 private:
  /// Calls use(what came, how far from the first byte, bytes) for all pieces, by all threads.
  template <class Use>
  void for_each_piece(const void* device, std::size_t bytes, Use use);

  static constexpr std::size_t kPieceBytes = std::size_t{2} << 20, kPieces = 32;
  static_assert(kPieceBytes * kPieces == kDownloadHostBytes);
  struct Piece {
    std::mutex in_use;
    Event arrived;
  };
  unsigned n_threads_;
  int device_ = 0;
  CopyStream stream_;
  std::unique_ptr<std::byte[], FreePinned> buffer_;
  std::array<Piece, kPieces> pieces_;
};

}  // namespace apsyn::idg_cuda
