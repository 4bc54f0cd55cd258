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
#include <span>
#include <vector>

#include "kernels/common/cuda/pinned_ring.h"
#include "kernels/common/cuda/transfer.h"
#include "kernels/idg/grid_memory.h"
#include "kernels/idg/partition/pass_rows.h"

namespace apsyn::idg_cuda {

/// Bytes on their way to the device.
struct Transfer {
  /// fill(to, first, n) writes n bytes from byte `first` on; it returns false if the data are not of the kind
  /// that this transfer handles.
  using Fill = std::function<bool(std::byte*, std::size_t, std::size_t)>;
  void* device = nullptr;
  std::size_t bytes = 0, part_bytes = 0;  ///< part_bytes: what one call of fill() writes, a power of two
  Fill fill;
  const std::byte* straight = nullptr;  ///< pinned memory that holds them as they are; fill() is not asked

  /// Its first bytes, and the rest: both together are all of it.
  Transfer until(std::size_t n) const;
  Transfer from(std::size_t n) const;
};
/// Parts are so small that all threads work on a piece.
inline constexpr std::size_t kPartBytes = std::size_t{512} << 10;
Transfer transfer_bytes(void* device, const idg::RowBytes& host);
template <class T>
Transfer transfer(Upload<T>& to, const idg::RowBytes& host) {
  return transfer_bytes(host.size() > 0 ? to.reserve(host.size() / sizeof(T)) : nullptr, host);
}
/// host[0 .. size).
template <class T>
Transfer transfer(Upload<T>& to, const void* host, std::size_t size) {
  return transfer(to, idg::RowBytes(host, size * sizeof(T), 1, nullptr, 0));
}
/// Transfers the first of every n_alike floats, for host arrays in which all n_alike are equal.
Transfer transfer_alike(float* to, const idg::RowBytes& host, std::size_t n_alike);

/// Packed rows of weights [row][chan][plane], for those that row_weights.h can pack.
Transfer transfer_row_weights(Upload<std::uint32_t>& to, const idg::RowBytes& weight, std::size_t n_chan,
                              std::size_t n_planes);

/// Whether the rows are in pinned memory and long enough that the device can fetch chosen ones itself.
bool can_fetch(const idg::RowBytes& host);

/// Copies by way of a ring of pinned pieces, which threads fill part by part: whoever fills the last
/// part of a piece sends it. What is in pinned memory goes straight, before the rest: whole arrays by copies,
/// chosen rows as the device fetches them.
class Uploader {
 public:
  /// For the current device.
  explicit Uploader(unsigned n_threads);
  /// From now on.
  void use_threads(unsigned n) { n_threads_ = n; }
  /// False when a fill() refused; the destination of that transfer is then undefined.
  bool send(std::span<const Transfer> transfers);
  /// Rows that can_fetch(), chosen by a list that has been sent to the device; they come beside what is sent
  /// from now on.
  void fetch(void* device, const idg::RowBytes& host, const std::uint32_t* chosen);
  /// Work given to the stream from now on sees everything that was sent, or all but what is fetched.
  void hold(cudaStream_t stream);
  void hold_copies(cudaStream_t stream);
  /// Waits until the caller's memory is no longer read.
  void settle();

 private:
  /// Pieces are large enough that the fixed cost of a transfer hardly matters.
  static constexpr std::size_t kPieceBytes = 16 * kPartBytes, kPieces = 16;
  static_assert(kPieceBytes * kPieces == kUploadHostBytes);
  /// Piece::n_sent once a transfer has failed: nobody waits any more.
  static constexpr std::size_t kFailed = std::numeric_limits<std::size_t>::max() / 2;
  struct Piece {
    std::atomic<std::size_t> n_filled{0};  ///< parts
    std::atomic<std::size_t> n_sent{0};    ///< times
    std::atomic<std::size_t> n_free{0};  ///< number of times that it became free to be filled; it starts free
    Event sent;
    std::mutex waiting;  ///< for `sent`
  };
  void send_straight(const Transfer& transfer);
  /// Fills a part, and sends the piece when it was the last one missing; `first` is the transfer's first
  /// piece.
  bool send_part(const Transfer& transfer, std::size_t first, std::size_t part, bool refused);
  /// Waits until the device has read the piece's contents of earlier turns.
  static void wait_until_free(Piece& piece, std::size_t turn);

  unsigned n_threads_;
  int device_ = 0;
  CopyStream stream_;
  CopyStream fetches_ = CopyStream::urgent();  ///< kernels, which sums would keep waiting
  PinnedRing buffer_;                          ///< from the first piece on
  std::array<Piece, kPieces> pieces_;
  Event all_, straight_, fetched_;
  bool reads_straight_ = false, fetches_rows_ = false;
  std::size_t next_ = 0;  ///< piece, counted from the first ever
};

}  // namespace apsyn::idg_cuda
