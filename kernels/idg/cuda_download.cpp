// SPDX-License-Identifier: GPL-3.0-or-later
#ifdef APSYN_CUDA
#include "kernels/idg/cuda_download.cuh"

#include <algorithm>

#include "libcore/core/parallel.h"

namespace apsyn::idg_cuda {

Downloader::Downloader(unsigned n_threads)
    : n_threads_(n_threads), buffer_(pinned<std::byte>(kPieceBytes * kPieces)) {
  cuda_check(cudaGetDevice(&device_), "asking for the device");
}

template <class T, class Out>
void Downloader::add(const void* device, std::complex<Out>* to, std::size_t n) {
  constexpr std::size_t at_once = kPieceBytes / sizeof(std::complex<T>);
  parallel_for(n_threads_, (n + at_once - 1) / at_once, [&](std::size_t i, unsigned) {
    cuda_check(cudaSetDevice(device_), "choosing the device");
    const std::size_t first = i * at_once, size = std::min(at_once, n - first);
    Piece& piece = pieces_[i % kPieces];
    std::byte* buffer = buffer_.get() + i % kPieces * kPieceBytes;
    std::lock_guard lock(piece.in_use);
    cuda_check(cudaMemcpyAsync(buffer, static_cast<const std::complex<T>*>(device) + first,
                               size * sizeof(std::complex<T>), cudaMemcpyDeviceToHost, stream_.get()),
               "copying visibilities back");
    piece.arrived.record(stream_.get());
    piece.arrived.wait();
    const T* from = reinterpret_cast<const T*>(buffer);
    Out* sum = reinterpret_cast<Out*>(to + first);
    for (std::size_t k = 0; k < 2 * size; ++k) sum[k] += static_cast<Out>(from[k]);
  });
}

template void Downloader::add<float>(const void*, std::complex<float>*, std::size_t);
template void Downloader::add<float>(const void*, std::complex<double>*, std::size_t);
template void Downloader::add<double>(const void*, std::complex<float>*, std::size_t);
template void Downloader::add<double>(const void*, std::complex<double>*, std::size_t);

}  // namespace apsyn::idg_cuda
#endif
