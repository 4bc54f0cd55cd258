// SPDX-License-Identifier: GPL-3.0-or-later
// Stable sorting by one key after the other, and running sums, on a stream. For host code with CUDA.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/transfer.h"

namespace apsyn {

/// Indices that are sorted by their last key first. The memory is kept from use to use.
class DeviceSort {
 public:
  explicit DeviceSort(cudaStream_t stream) : stream_(stream) {}

  /// Room for the keys of n items, to be filled on the stream before by_keys().
  std::uint64_t* keys(std::uint32_t n);
  /// The order so far: 0 1 2 ... after begin().
  void begin(std::uint32_t n);
  const std::uint32_t* order() const { return order_[current_].data(); }
  /// Keys of order()[i], for i < n; only their lowest bits count.
  void by_keys(std::uint32_t n, int n_bits);
  /// The keys in the order that by_keys() made.
  const std::uint64_t* sorted_keys() const { return keys_[1].data(); }

  /// sums[i] = values[0] + ... + values[i]. They may be the same.
  void inclusive_sum(const std::uint32_t* values, std::uint32_t* sums, std::uint32_t n);
  void inclusive_max(const std::uint32_t* values, std::uint32_t* largest, std::uint32_t n);

 private:
  void* scratch(std::size_t bytes) { return scratch_.reserve(bytes); }

  cudaStream_t stream_;
  Upload<std::uint64_t> keys_[2];
  Upload<std::uint32_t> order_[2];
  Upload<unsigned char> scratch_;
  int current_ = 0;
};

/// Bits that numbers up to `most` take.
constexpr int bits_of(std::uint64_t most) {
  int n = 0;
  while (n < 64 && most >> n != 0) ++n;
  return n;
}

}  // namespace apsyn
