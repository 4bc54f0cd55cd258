// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cuda/transfer/download.cuh"

#include <algorithm>
#include <cstring>

#include "libcore/system/parallel.h"

namespace apsyn::idg_cuda {

Downloader::Downloader(unsigned n_threads) : n_threads_(n_threads) {
  cuda_check(cudaGetDevice(&device_), "asking for the device");
}

void Downloader::expect(const void* device, std::size_t bytes, const Event& ready) {
  std::lock_guard lock(mutex_);
  if (buffer_.get() == nullptr) buffer_ = PinnedRing(kPieceBytes * kPieces, n_threads_);
  arrays_.push_back({static_cast<const std::byte*>(device), bytes, n_expected_, &ready});
  n_expected_ += (bytes + kPieceBytes - 1) / kPieceBytes;
  fetch_more();
}

void Downloader::fetch_more() {
  for (; next_fetched_ < n_expected_; ++next_fetched_) {
    Piece& piece = pieces_[next_fetched_ % kPieces];
    if (piece.n_done < next_fetched_ / kPieces) return;
    const Array& array = *std::find_if(arrays_.rbegin(), arrays_.rend(),
                                       [&](const Array& each) { return each.first_piece <= next_fetched_; });
    const std::size_t first = (next_fetched_ - array.first_piece) * kPieceBytes;
    if (first == 0) array.ready->hold(stream_.get());
    cuda_check(
        cudaMemcpyAsync(buffer_.get() + next_fetched_ % kPieces * kPieceBytes, array.device + first,
                        std::min(kPieceBytes, array.bytes - first), cudaMemcpyDeviceToHost, stream_.get()),
        "copying from the device");
    piece.arrived.record(stream_.get());
    piece.n_fetched.fetch_add(1);
    piece.n_fetched.notify_all();
  }
}

void Downloader::wait_for(std::size_t index) {
  Piece& piece = pieces_[index % kPieces];
  const std::size_t turn = index / kPieces;
  if (piece.n_arrived.load() > turn) return;
  for (std::size_t n = piece.n_fetched.load(); n <= turn; n = piece.n_fetched.load()) piece.n_fetched.wait(n);
  std::lock_guard lock(piece.waiting);
  if (piece.n_arrived.load() > turn) return;
  piece.arrived.wait();
  piece.n_arrived.store(turn + 1);
}

template <class Use>
void Downloader::for_each_part(Use use) {
  Array array{};
  {
    std::lock_guard lock(mutex_);
    array = arrays_.front();
  }
  // Parts are taken in their order, and whoever waits waits for parts before its own.
  parallel_for(n_threads_, (array.bytes + kPartBytes - 1) / kPartBytes, [&](std::size_t part, unsigned) {
    const std::size_t at = part * kPartBytes, begin = at / kPieceBytes * kPieceBytes,
                      end = std::min(array.bytes, begin + kPieceBytes),
                      index = array.first_piece + at / kPieceBytes;
    Piece& piece = pieces_[index % kPieces];
    try {
      cuda_check(cudaSetDevice(device_), "choosing the device");
      wait_for(index);
      use(buffer_.get() + index % kPieces * kPieceBytes + (at - begin), at,
          std::min(kPartBytes, array.bytes - at));
      if (piece.n_used.fetch_add(1) + 1 < (end - begin + kPartBytes - 1) / kPartBytes) return;
      piece.n_used.store(0);
      std::lock_guard lock(mutex_);
      ++piece.n_done;
      fetch_more();
    } catch (...) {
      for (Piece& other : pieces_) {
        other.n_fetched.store(kFailed);
        other.n_fetched.notify_all();
      }
      throw;
    }
  });
  std::lock_guard lock(mutex_);
  arrays_.pop_front();
}

template <class T, class Out>
void Downloader::add(std::complex<Out>* to) {
  for_each_part([&](const std::byte* buffer, std::size_t first, std::size_t size) {
    const T* from = reinterpret_cast<const T*>(buffer);
    Out* sum = reinterpret_cast<Out*>(to) + first / sizeof(T);
    for (std::size_t k = 0; k < size / sizeof(T); ++k) sum[k] += static_cast<Out>(from[k]);
  });
}

void Downloader::copy(void* to) {
  for_each_part([&](const std::byte* buffer, std::size_t first, std::size_t size) {
    std::memcpy(static_cast<std::byte*>(to) + first, buffer, size);
  });
}

template void Downloader::add<float>(std::complex<float>*);
template void Downloader::add<float>(std::complex<double>*);
template void Downloader::add<double>(std::complex<float>*);
template void Downloader::add<double>(std::complex<double>*);

}  // namespace apsyn::idg_cuda
