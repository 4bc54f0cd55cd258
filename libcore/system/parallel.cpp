// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/system/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "libcore/system/worker_pool.h"

namespace apsyn {

void parallel_for(unsigned n_threads, std::size_t n_items,
                  const std::function<void(std::size_t item, unsigned thread)>& work) {
  const auto n_used = static_cast<unsigned>(std::min<std::size_t>(std::max(1u, n_threads), n_items));
  if (n_used <= 1) {
    for (std::size_t item = 0; item < n_items; ++item) work(item, 0);
    return;
  }
  std::atomic<std::size_t> next{0};
  FirstError error;
  const auto take_items = [&](unsigned thread) {
    try {
      for (std::size_t item = next++; item < n_items; item = next++) work(item, thread);
    } catch (...) {
      error.keep();
      next = n_items;
    }
  };
  {
    SharedWork* whole = nullptr;
    SharedWork shared(n_used, [&](unsigned thread) {
      take_items(thread);
      whole->withdraw();  // nothing is left for others
    });
    whole = &shared;
    shared.offer(n_used - 1);
    take_items(0);
  }
  error.rethrow();
}

void touch_pages(unsigned n_threads, std::span<std::byte> memory) {
  if (n_threads < 2) return;
  const std::size_t within = reinterpret_cast<std::uintptr_t>(memory.data()) % kHugePageBytes;
  const std::size_t first = within == 0 ? 0 : kHugePageBytes - within;
  if (first >= memory.size()) return;
  parallel_for(n_threads, (memory.size() - first + kHugePageBytes - 1) / kHugePageBytes,
               [&](std::size_t page, unsigned) { memory[first + page * kHugePageBytes] = std::byte{0}; });
}

}  // namespace apsyn
