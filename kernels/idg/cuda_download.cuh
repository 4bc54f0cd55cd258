// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities of the device added to the host's. For host code with CUDA only.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <memory>
#include <mutex>

#include "kernels/common/device_transfer.h"

namespace apsyn::idg_cuda {

/// Copies by way of a ring of pinned pieces: every thread fetches one and adds it, while others travel.
class Downloader {
 public:
  /// For the current device.
  explicit Downloader(unsigned n_threads);
  /// Work given to the other stream so far is done before anything that is added from now on is fetched.
  void after(const Event& event) const { event.hold(stream_.get()); }
  /// to[i] += device[i]; returns when all are added.
  template <class T, class Out>
  void add(const void* device, std::complex<Out>* to, std::size_t n);

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{2} << 20, kPieces = 32;
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
