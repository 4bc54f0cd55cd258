// SPDX-License-Identifier: GPL-3.0-or-later
// Much pinned memory at once. For host code with CUDA only.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "kernels/common/cuda/check.h"
#include "libcore/base/view.h"
#include "libcore/system/parallel.h"

namespace apsyn {

struct FreePages {
  std::size_t bytes = 0;
  void operator()(std::byte* memory) const {
    madvise(memory, bytes, MADV_DOFORK);
    std::free(memory);
  }
};

/// cudaMallocHost() takes 40 to 50 ms for 64 to 128 MB, nearly all to touch small pages by one thread. Huge
/// pages that all threads touch, and that are pinned afterwards, take a few.
class PinnedRing {
 public:
  PinnedRing() = default;
  PinnedRing(std::size_t bytes, unsigned n_threads)
      : memory_(static_cast<std::byte*>(allocate_aligned(bytes)), FreePages{bytes}) {
    if (memory_ == nullptr) throw std::bad_alloc();
    // A copy of the process would share its pages, and whoever writes next gets others than the device reads.
    madvise(memory_.get(), bytes, MADV_DONTFORK);
    parallel_for(n_threads, (bytes + kHugePageBytes - 1) / kHugePageBytes,
                 [&](std::size_t page, unsigned) { memory_.get()[page * kHugePageBytes] = std::byte{0}; });
    cuda_check(cudaHostRegister(memory_.get(), bytes, cudaHostRegisterDefault), "pinning memory");
    is_pinned_ = true;
  }
  PinnedRing(PinnedRing&& other) noexcept
      : memory_(std::move(other.memory_)), is_pinned_(std::exchange(other.is_pinned_, false)) {}
  PinnedRing& operator=(PinnedRing&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(is_pinned_, other.is_pinned_);
    return *this;
  }
  ~PinnedRing() {
    if (is_pinned_) cudaHostUnregister(memory_.get());
  }
  std::byte* get() const { return memory_.get(); }

 private:
  std::unique_ptr<std::byte[], FreePages> memory_;
  bool is_pinned_ = false;
};

}  // namespace apsyn
