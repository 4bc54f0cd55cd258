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
  const std::size_t n_pieces = (bytes + kPieceBytes - 1) / kPieceBytes, first = next_;
  parallel_for(n_pieces < 4 ? 1 : n_threads_, n_pieces, [&](std::size_t i, unsigned) {
    cuda_check(cudaSetDevice(device_), "choosing the device");
    const std::size_t index = (first + i) % kPieces, at = i * kPieceBytes,
                      n = std::min(kPieceBytes, bytes - at);
    Piece& piece = pieces_[index];
    std::byte* buffer = buffer_.get() + index * kPieceBytes;
    std::lock_guard lock(piece.filling);
    piece.sent.wait();
    std::memcpy(buffer, static_cast<const std::byte*>(host) + at, n);
    cuda_check(cudaMemcpyAsync(static_cast<std::byte*>(device) + at, buffer, n, cudaMemcpyHostToDevice,
                               stream_.get()),
               "copying to the device");
    piece.sent.record(stream_.get());
  });
  next_ = (first + n_pieces) % kPieces;
}

void Uploader::hold(cudaStream_t stream) {
  all_.record(stream_.get());
  all_.hold(stream);
}

}  // namespace apsyn::idg_cuda
#endif
