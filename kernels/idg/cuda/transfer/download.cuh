// SPDX-License-Identifier: GPL-3.0-or-later
// Arrays of the device to the host's memory. For host code with CUDA only.
#pragma once

#include <array>
#include <atomic>
#include <complex>
#include <cstddef>
#include <deque>
#include <limits>
#include <mutex>

#include "kernels/common/cuda/pinned_ring.h"
#include "kernels/common/cuda/transfer.h"
#include "kernels/idg/grid_memory.h"

namespace apsyn::idg_cuda {

/// From this size on, a copy is worth allocating the ring, which takes 20 ms.
constexpr std::size_t kWorthPinnedBytes = std::size_t{256} << 20;

/// Copies through a ring of pinned pieces, as far ahead as the ring reaches, while threads use the parts that
/// have arrived.
class Downloader {
 public:
  /// For the current device.
  explicit Downloader(unsigned n_threads);
  /// Announces an array that may be copied once the event has passed; the event must outlive the copy. add()
  /// or copy() then take the arrays in turn. Any thread may call this.
  void expect(const void* device, std::size_t bytes, const Event& ready);
  /// to[i] += device[i] for the array that was announced first; returns when all values are added.
  template <class T, class Out>
  void add(std::complex<Out>* to);
  void copy(void* to);

 private:
  struct Array {
    const std::byte* device;
    std::size_t bytes, first_piece;
    const Event* ready;
  };
  /// Calls use(data, offset from the first byte, number of bytes) for all parts of the array that was
  /// announced first, from all threads.
  template <class Use>
  void for_each_part(Use use);
  /// Starts copies into all free pieces. Requires `mutex_`.
  void fetch_more();
  /// Waits until the piece has arrived in its current turn.
  void wait_for(std::size_t index);

  static constexpr std::size_t kPartBytes = std::size_t{256} << 10, kPieceBytes = 16 * kPartBytes,
                               kPieces = 16;
  static_assert(kPieceBytes * kPieces == kDownloadHostBytes);
  /// Piece::n_fetched once a transfer has failed: nobody waits any more.
  static constexpr std::size_t kFailed = std::numeric_limits<std::size_t>::max() / 2;
  struct Piece {
    std::atomic<std::size_t> n_fetched{0};  ///< times that it was asked for
    std::atomic<std::size_t> n_arrived{0};  ///< times
    std::atomic<std::size_t> n_used{0};     ///< parts
    std::size_t n_done = 0;                 ///< times that all parts have been used; with `mutex_`
    Event arrived;
    std::mutex waiting;  ///< for `arrived`
  };
  unsigned n_threads_;
  int device_ = 0;
  CopyStream stream_;
  PinnedRing buffer_;  ///< from the first array on
  std::array<Piece, kPieces> pieces_;
  std::mutex mutex_;
  std::deque<Array> arrays_;      ///< those that are not all fetched or used; with `mutex_`
  std::size_t next_fetched_ = 0;  ///< piece, counted from the first ever; with `mutex_`
  std::size_t n_expected_ = 0;    ///< pieces; with `mutex_`
};

}  // namespace apsyn::idg_cuda
