// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/core/parallel.h"

#include <algorithm>

namespace apsyn {

void parallel_for(unsigned n_threads, std::size_t n_items,
                  const std::function<void(std::size_t item, unsigned thread)>& work) {
  const auto n_used = static_cast<unsigned>(std::min<std::size_t>(std::max(1u, n_threads), n_items));
  if (n_used <= 1) {
    for (std::size_t item = 0; item < n_items; ++item) work(item, 0);
    return;
  }
  std::atomic<std::size_t> next{0};
  std::exception_ptr first_error;
  std::mutex error_mutex;
  auto run = [&](unsigned thread) {
    try {
      for (std::size_t item = next++; item < n_items; item = next++) work(item, thread);
    } catch (...) {
      std::lock_guard lock(error_mutex);
      if (!first_error) first_error = std::current_exception();
      next = n_items;
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(n_used - 1);
  for (unsigned thread = 1; thread < n_used; ++thread) threads.emplace_back(run, thread);
  run(0);
  for (std::thread& thread : threads) thread.join();
  if (first_error) std::rethrow_exception(first_error);
}

}  // namespace apsyn
