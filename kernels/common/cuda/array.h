// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "kernels/common/cuda/check.h"

namespace apsyn {

/// Device memory, move-only, uninitialised. DeviceError when there is not enough.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t size) : size_(size) {
    if (size > 0) cuda_check(cudaMalloc(&data_, size * sizeof(T)), "allocating device memory");
  }
  DeviceArray(DeviceArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~DeviceArray() { cudaFree(data_); }
  T* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

// The default stream's work may go on when cudaMemset(), or cudaMemcpy() out of pageable memory, has
// returned, and streams that do not block (CopyStream) do not wait for it: they would read what is not there
// yet, or write what is then filled over. So both are waited for here.

inline void finish_default_stream() {
  cuda_check(cudaStreamSynchronize(nullptr), "waiting for the device");
}

/// n values from `to` on become bytes of this value.
template <class T>
void fill_bytes(T* to, int byte, std::size_t n) {
  cuda_check(cudaMemset(to, byte, n * sizeof(T)), "filling device memory");
  finish_default_stream();
}

template <class T>
DeviceArray<T> uploaded(const std::vector<T>& values) {
  DeviceArray<T> array(values.size());
  cuda_check(cudaMemcpy(array.data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
             "copying to the device");
  finish_default_stream();
  return array;
}

}  // namespace apsyn
