// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cuda/transfer/upload.cuh"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "kernels/idg/cuda/transfer/fetch_rows.cuh"
#include "kernels/idg/partition/row_weights.h"
#include "libcore/system/parallel.h"

namespace apsyn::idg_cuda {
namespace {

std::size_t ceil_div(std::size_t a, std::size_t b) {
  return (a + b - 1) / b;
}

/// Bits are compared, so that NaN is like itself.
template <std::size_t kAlike>
bool pack_alike(const float* from, std::size_t n, float* firsts) {
  std::uint32_t differing = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto first = std::bit_cast<std::uint32_t>(from[i * kAlike]);
    for (std::size_t k = 1; k < kAlike; ++k)
      differing |= first ^ std::bit_cast<std::uint32_t>(from[i * kAlike + k]);
    firsts[i] = from[i * kAlike];
  }
  return differing == 0;
}

}  // namespace

Transfer Transfer::until(std::size_t n) const {
  return {device, std::min(n, bytes), part_bytes, fill, straight};
}

Transfer Transfer::from(std::size_t n) const {
  const std::size_t skipped = std::min(n, bytes);
  return {static_cast<std::byte*>(device) + skipped, bytes - skipped, part_bytes,
          [all = fill, skipped](std::byte* to, std::size_t first, std::size_t size) {
            return all(to, skipped + first, size);
          },
          straight == nullptr ? nullptr : straight + skipped};
}

Transfer transfer_bytes(void* device, const idg::RowBytes& host) {
  const std::byte* whole = host.size() > 0 ? host.whole() : nullptr;
  const bool straight = whole != nullptr && is_pinned(whole) && is_pinned(whole + host.size() - 1);
  return {device, host.size(), kPartBytes,
          [host](std::byte* to, std::size_t first, std::size_t n) {
            host.for_each_run(first, n, [&to](const std::byte* from, std::size_t size) {
              std::memcpy(to, from, size);
              to += size;
            });
            return true;
          },
          straight ? whole : nullptr};
}

Transfer transfer_alike(float* to, const idg::RowBytes& host, std::size_t n_alike) {
  return {to, host.size() / n_alike, kPartBytes / 4,
          [host, n_alike](std::byte* bytes, std::size_t first, std::size_t n_bytes) {
            auto* firsts = reinterpret_cast<float*>(bytes);
            bool alike = n_alike == 2 || n_alike == 4;
            host.for_each_run(first * n_alike, n_bytes * n_alike,
                              [&](const std::byte* run, std::size_t size) {
                                const auto* from = reinterpret_cast<const float*>(run);
                                const std::size_t n_values = size / sizeof(float) / n_alike;
                                alike = alike && (n_alike == 4 ? pack_alike<4>(from, n_values, firsts)
                                                               : pack_alike<2>(from, n_values, firsts));
                                firsts += n_values;
                              });
            return alike;
          }};
}

Transfer transfer_row_weights(Upload<std::uint32_t>& to, const idg::RowBytes& weight, std::size_t n_chan,
                              std::size_t n_planes) {
  const std::size_t n_words = idg::row_weight_words(n_chan), packed_bytes = n_words * sizeof(std::uint32_t),
                    row_bytes = n_chan * n_planes * sizeof(float), n_rows = weight.size() / row_bytes;
  return {to.reserve(n_rows * n_words), n_rows * packed_bytes, std::max(packed_bytes, kPartBytes / 16),
          [=](std::byte* bytes, std::size_t first, std::size_t n_bytes) {
            auto* packed = reinterpret_cast<std::uint32_t*>(bytes);
            bool can = true;
            weight.for_each_run(first / packed_bytes * row_bytes, n_bytes / packed_bytes * row_bytes,
                                [&](const std::byte* run, std::size_t size) {
                                  const auto* from = reinterpret_cast<const float*>(run);
                                  const std::size_t n = size / row_bytes;
                                  can = can && idg::pack_row_weights(from, n, n_chan, n_planes, packed);
                                  packed += n * n_words;
                                });
            return can;
          }};
}

bool can_fetch(const idg::RowBytes& host) {
  const void* from = device_address(host.array().data(), host.array().size());
  return from != nullptr && host.row_bytes() >= idg::kMinFetchedBytes &&
         host.row_bytes() % idg::kFetchedWordBytes == 0 &&
         reinterpret_cast<std::uintptr_t>(from) % idg::kFetchedWordBytes == 0;
}

Uploader::Uploader(unsigned n_threads) : n_threads_(n_threads) {
  cuda_check(cudaGetDevice(&device_), "asking for the device");
}

bool Uploader::send(std::span<const Transfer> transfers) {
  std::vector<std::size_t> end_part, first_piece;
  std::size_t n_parts = 0;
  for (const Transfer& transfer : transfers) {
    const std::size_t bytes = transfer.straight == nullptr ? transfer.bytes : 0;
    end_part.push_back(n_parts += ceil_div(bytes, transfer.part_bytes));
    first_piece.push_back(next_);
    next_ += ceil_div(bytes, kPieceBytes);
    send_straight(transfer);
  }
  if (n_parts > 0 && buffer_.get() == nullptr) buffer_ = PinnedRing(kPieceBytes * kPieces, n_threads_);
  std::vector<std::atomic<bool>> refused(transfers.size());
  // Parts are taken in their order, and whoever waits waits for parts before its own.
  parallel_for(n_parts < 4 ? 1 : n_threads_, n_parts, [&](std::size_t part, unsigned) {
    const auto i =
        static_cast<std::size_t>(std::upper_bound(end_part.begin(), end_part.end(), part) - end_part.begin());
    // A transfer that has been refused need not be inspected to its end.
    const bool known = refused[i].load(std::memory_order_relaxed);
    if (!send_part(transfers[i], first_piece[i], part - (i == 0 ? 0 : end_part[i - 1]), known))
      refused[i] = true;
  });
  return std::none_of(refused.begin(), refused.end(), [](const auto& each) { return each.load(); });
}

void Uploader::send_straight(const Transfer& transfer) {
  if (transfer.straight == nullptr || transfer.bytes == 0) return;
  cuda_check(cudaMemcpyAsync(transfer.device, transfer.straight, transfer.bytes, cudaMemcpyHostToDevice,
                             stream_.get()),
             "copying to the device");
  straight_.record(stream_.get());
  reads_straight_ = true;
}

void Uploader::fetch(void* device, const idg::RowBytes& host, const std::uint32_t* chosen) {
  hold_copies(fetches_.get());
  fetches_rows_ = true;
  idg::launch_fetch_rows(device_address(host.array().data(), host.array().size()),
                         static_cast<std::uint32_t>(host.row_bytes() / idg::kFetchedWordBytes), chosen,
                         static_cast<std::uint32_t>(host.size() / host.row_bytes()), device, fetches_.get());
  fetched_.record(fetches_.get());
}

void Uploader::settle() {
  if (reads_straight_) straight_.wait();
  if (fetches_rows_) fetched_.wait();
  reads_straight_ = fetches_rows_ = false;
}

bool Uploader::send_part(const Transfer& transfer, std::size_t first, std::size_t part, bool refused) {
  const std::size_t at = part * transfer.part_bytes, index = first + at / kPieceBytes,
                    begin = at / kPieceBytes * kPieceBytes,
                    end = std::min(transfer.bytes, begin + kPieceBytes);
  Piece& piece = pieces_[index % kPieces];
  std::byte* buffer = buffer_.get() + index % kPieces * kPieceBytes;
  bool fits = false;
  try {
    cuda_check(cudaSetDevice(device_), "choosing the device");
    wait_until_free(piece, index / kPieces);
    fits = !refused &&
           transfer.fill(buffer + (at - begin), at, std::min(transfer.part_bytes, transfer.bytes - at));
    if (piece.n_filled.fetch_add(1) + 1 < ceil_div(end - begin, transfer.part_bytes)) return fits;
    cuda_check(cudaMemcpyAsync(static_cast<std::byte*>(transfer.device) + begin, buffer, end - begin,
                               cudaMemcpyHostToDevice, stream_.get()),
               "copying to the device");
    piece.sent.record(stream_.get());
  } catch (...) {
    for (Piece& other : pieces_) {
      other.n_sent.store(kFailed);
      other.n_sent.notify_all();
    }
    throw;
  }
  piece.n_filled.store(0);
  piece.n_sent.fetch_add(1);
  piece.n_sent.notify_all();
  return fits;
}

void Uploader::wait_until_free(Piece& piece, std::size_t turn) {
  if (piece.n_free.load() > turn) return;
  for (std::size_t sent = piece.n_sent.load(); sent < turn; sent = piece.n_sent.load())
    piece.n_sent.wait(sent);
  std::lock_guard lock(piece.waiting);  // not before: who fills the piece for the turn before may need it
  if (piece.n_free.load() > turn) return;
  piece.sent.wait();
  piece.n_free.store(turn + 1);
}

void Uploader::hold(cudaStream_t stream) {
  hold_copies(stream);
  fetched_.hold(stream);
}

void Uploader::hold_copies(cudaStream_t stream) {
  all_.record(stream_.get());
  all_.hold(stream);
}

}  // namespace apsyn::idg_cuda
