// SPDX-License-Identifier: GPL-3.0-or-later
#ifdef APSYN_CUDA
#include "kernels/idg/cuda_download.cuh"

#include <algorithm>
#include <cstring>

#include "libcore/core/parallel.h"

namespace apsyn::idg_cuda {

Downloader::Downloader(unsigned n_threads)
    : n_threads_(n_threads), buffer_(pinned<std::byte>(kPieceBytes * kPieces)) {
  cuda_check(cudaGetDevice(&device_), "asking for the device");
}

template <class Use>
void Downloader::for_each_piece(const void* device, std::size_t bytes, Use use) {
  parallel_for(n_threads_, (bytes + kPieceBytes - 1) / kPieceBytes, [&](std::size_t i, unsigned) {
    cuda_check(cudaSetDevice(device_), "choosing the device");
    const std::size_t first = i * kPieceBytes, size = std::min(kPieceBytes, bytes - first);
    Piece& piece = pieces_[i % kPieces];
    std::byte* buffer = buffer_.get() + i % kPieces * kPieceBytes;
    std::lock_guard lock(piece.in_use);
    cuda_check(cudaMemcpyAsync(buffer, static_cast<const std::byte*>(device) + first, size,
                               cudaMemcpyDeviceToHost, stream_.get()),
               "copying from the device");
    piece.arrived.record(stream_.get());
    piece.arrived.wait();
    use(buffer, first, size);
  });
}

template <class T, class Out>
void Downloader::add(const void* device, std::complex<Out>* to, std::size_t n) {
  for_each_piece(device, n * sizeof(std::complex<T>),
                 [&](const std::byte* buffer, std::size_t first, std::size_t size) {
                   const T* from = reinterpret_cast<const T*>(buffer);
                   Out* sum = reinterpret_cast<Out*>(to + first / sizeof(std::complex<T>));
                   for (std::size_t k = 0; k < size / sizeof(T); ++k) sum[k] += static_cast<Out>(from[k]);
                 });
}

void Downloader::copy(const void* device, void* to, std::size_t bytes) {
  for_each_piece(device, bytes, [&](const std::byte* buffer, std::size_t first, std::size_t size) {
    std::memcpy(static_cast<std::byte*>(to) + first, buffer, size);
  });
}

template void Downloader::add<float>(const void*, std::complex<float>*, std::size_t);
template void Downloader::add<float>(const void*, std::complex<double>*, std::size_t);
template void Downloader::add<double>(const void*, std::complex<float>*, std::size_t);
template void Downloader::add<double>(const void*, std::complex<double>*, std::size_t);

}  // namespace apsyn::idg_cuda
#endif
