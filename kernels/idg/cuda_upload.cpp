// SPDX-License-Identifier: GPL-3.0-or-later
#ifdef APSYN_CUDA
#include "kernels/idg/cuda_upload.cuh"

#include <algorithm>
#include <cstring>

#include "libcore/core/parallel.h"

namespace apsyn::idg_cuda {

Uploader::Uploader(unsigned n_threads) : n_threads_(n_threads) {
  for (auto& buffer : buffers_) buffer = pinned<std::byte>(kBufferBytes);
}

void Uploader::copy(void* device, const void* host, std::size_t bytes) {
  constexpr std::size_t piece_bytes = std::size_t{1} << 20;
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t n = std::min(kBufferBytes, bytes - done);
    std::byte* buffer = buffers_[next_].get();
    const std::byte* source = static_cast<const std::byte*>(host) + done;
    sent_[next_].wait();
    const std::size_t n_pieces = (n + piece_bytes - 1) / piece_bytes;
    parallel_for(n_pieces < 4 ? 1 : n_threads_, n_pieces, [&](std::size_t i, unsigned) {
      const std::size_t at = i * piece_bytes;
      std::memcpy(buffer + at, source + at, std::min(piece_bytes, n - at));
    });
    cuda_check(cudaMemcpyAsync(static_cast<std::byte*>(device) + done, buffer, n, cudaMemcpyHostToDevice,
                               stream_.get()),
               "copying to the device");
    sent_[next_].record(stream_.get());
    next_ = (next_ + 1) % kBuffers;
    done += n;
  }
}

void Uploader::hold(cudaStream_t stream) {
  all_.record(stream_.get());
  all_.hold(stream);
}

}  // namespace apsyn::idg_cuda
#endif
