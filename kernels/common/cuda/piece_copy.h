// SPDX-License-Identifier: GPL-3.0-or-later
// From the device to memory that is not pinned. For host code with CUDA only.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "kernels/common/cuda/pinned_ring.h"
#include "kernels/common/cuda/transfer.h"
#include "libcore/system/parallel.h"

namespace apsyn {

/// Copies through a few pinned pieces in turn: some are on their way while threads empty another. Pinning all
/// of two integrations of LWA-SV instead, 417 MB, and giving them back took 0.3 s.
class PieceCopy {
 public:
  static constexpr std::size_t kPieceBytes = std::size_t{4} << 20, kPieces = 4;

  /// For the current device.
  explicit PieceCopy(unsigned n_threads) : n_threads_(n_threads), ring_(kPieces * kPieceBytes, n_threads) {}

  /// Copies what the device has finished writing, and returns when all of it is there. One thread at a time,
  /// which has chosen the device.
  void copy(const void* device, std::size_t bytes, void* to) {
    const std::size_t n = (bytes + kPieceBytes - 1) / kPieceBytes;
    for (std::size_t piece = 0; piece < n + kPieces; ++piece) {
      if (piece >= kPieces) empty(piece - kPieces, bytes, static_cast<std::byte*>(to));
      if (piece < n) fetch(piece, static_cast<const std::byte*>(device), bytes);
    }
  }

 private:
  static constexpr std::size_t kPartBytes = std::size_t{256} << 10;

  static std::size_t size_of(std::size_t piece, std::size_t bytes) {
    return std::min(kPieceBytes, bytes - piece * kPieceBytes);
  }
  std::byte* place_of(std::size_t piece) const { return ring_.get() + piece % kPieces * kPieceBytes; }

  void fetch(std::size_t piece, const std::byte* device, std::size_t bytes) {
    cuda_check(cudaMemcpyAsync(place_of(piece), device + piece * kPieceBytes, size_of(piece, bytes),
                               cudaMemcpyDeviceToHost, stream_.get()),
               "copying from the device");
    arrived_[piece % kPieces].record(stream_.get());
  }

  void empty(std::size_t piece, std::size_t bytes, std::byte* to) {
    if (piece * kPieceBytes >= bytes) return;
    arrived_[piece % kPieces].wait();
    const std::size_t size = size_of(piece, bytes);
    parallel_for(n_threads_, (size + kPartBytes - 1) / kPartBytes, [&](std::size_t part, unsigned) {
      const std::size_t first = part * kPartBytes;
      std::memcpy(to + piece * kPieceBytes + first, place_of(piece) + first,
                  std::min(kPartBytes, size - first));
    });
  }

  unsigned n_threads_;
  PinnedRing ring_;
  std::array<Event, kPieces> arrived_;
  CopyStream stream_;
};

}  // namespace apsyn
