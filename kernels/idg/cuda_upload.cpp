// SPDX-License-Identifier: GPL-3.0-or-later
#ifdef APSYN_CUDA
#include "kernels/idg/cuda_upload.cuh"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "libcore/core/parallel.h"

namespace apsyn::idg_cuda {
namespace {

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

Uploader::Uploader(unsigned n_threads)
    : n_threads_(n_threads), buffer_(pinned<std::byte>(kPieceBytes * kPieces)) {
  cuda_check(cudaGetDevice(&device_), "asking for the device");
}

void Uploader::copy(void* device, const void* host, std::size_t bytes) {
  send(device, bytes, [host](std::byte* to, std::size_t first, std::size_t n) {
    std::memcpy(to, static_cast<const std::byte*>(host) + first, n);
  });
}

bool Uploader::copy_alike(Upload<float>& to, const float* host, std::size_t size, std::size_t n_alike) {
  std::atomic<bool> alike{true};
  const std::size_t n = size / n_alike;
  send(to.reserve(n), n * sizeof(float), [&](std::byte* bytes, std::size_t first, std::size_t n_bytes) {
    // What has been found to differ need not be looked through to its end.
    if (!alike.load(std::memory_order_relaxed)) return;
    auto* firsts = reinterpret_cast<float*>(bytes);
    const float* from = host + first / sizeof(float) * n_alike;
    const std::size_t n_values = n_bytes / sizeof(float);
    const bool same = n_alike == 4   ? pack_alike<4>(from, n_values, firsts)
                      : n_alike == 2 ? pack_alike<2>(from, n_values, firsts)
                                     : false;
    if (!same) alike = false;
  });
  return alike;
}

void Uploader::send(void* device, std::size_t bytes, const Fill& fill) {
  const std::size_t n_parts = (bytes + kPartBytes - 1) / kPartBytes, first = next_;
  // Parts are taken in their order, and whoever waits waits for parts before its own.
  parallel_for(n_parts < 4 ? 1 : n_threads_, n_parts, [&](std::size_t part, unsigned) {
    const std::size_t index = part / kParts, turn = (first + index) / kPieces, begin = index * kPieceBytes,
                      end = std::min(bytes, begin + kPieceBytes), at = part * kPartBytes;
    Piece& piece = pieces_[(first + index) % kPieces];
    std::byte* buffer = buffer_.get() + (first + index) % kPieces * kPieceBytes;
    try {
      cuda_check(cudaSetDevice(device_), "choosing the device");
      wait_until_free(piece, turn);
      fill(buffer + (at - begin), at, std::min(kPartBytes, bytes - at));
      if (piece.n_filled.fetch_add(1) + 1 < (end - begin + kPartBytes - 1) / kPartBytes) return;
      cuda_check(cudaMemcpyAsync(static_cast<std::byte*>(device) + begin, buffer, end - begin,
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
  });
  next_ = first + (bytes + kPieceBytes - 1) / kPieceBytes;
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
  all_.record(stream_.get());
  all_.hold(stream);
}

}  // namespace apsyn::idg_cuda
#endif
