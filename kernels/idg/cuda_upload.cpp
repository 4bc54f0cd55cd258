// SPDX-License-Identifier: GPL-3.0-or-later
#ifdef APSYN_CUDA
#include "kernels/idg/cuda_upload.cuh"

#include <algorithm>
#include <cstring>

#include "libcore/core/parallel.h"

namespace apsyn::idg_cuda {

Uploader::Uploader(unsigned n_threads)
    : n_threads_(n_threads), buffer_(pinned<std::byte>(kPieceBytes * kPieces)) {
  cuda_check(cudaGetDevice(&device_), "asking for the device");
}

void Uploader::copy(void* device, const void* host, std::size_t bytes) {
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
      std::memcpy(buffer + (at - begin), static_cast<const std::byte*>(host) + at,
                  std::min(kPartBytes, bytes - at));
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
