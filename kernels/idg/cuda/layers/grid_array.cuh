// SPDX-License-Identifier: GPL-3.0-or-later
// Memory for the layers of a pass that the GPU works on. For host code with CUDA only.
#pragma once

#include <cstddef>

#include "kernels/common/cuda/check.h"
#include "kernels/idg/idg.h"

namespace apsyn {

/// Device or managed memory on the current device, for GridMemory::gpu, unified or oversubscribed.
/// DeviceError when unified asks for more than is free, or oversubscribed what the driver cannot do.
void* allocate_grids(GridMemory where, std::size_t bytes);

/// Uninitialised; grows when it must.
template <class T>
class GridArray {
 public:
  explicit GridArray(GridMemory where) : where_(where) {}
  GridArray(const GridArray&) = delete;
  GridArray& operator=(const GridArray&) = delete;
  ~GridArray() { cudaFree(data_); }
  T* reserve(std::size_t size) {
    if (size > size_) {
      cudaFree(data_);  // give back before asking for more
      data_ = nullptr;
      size_ = 0;
      data_ = static_cast<T*>(allocate_grids(where_, size * sizeof(T)));
      size_ = size;
    }
    return data_;
  }
  T* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  GridMemory where_;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace apsyn
