// SPDX-License-Identifier: GPL-3.0-or-later
// One thread that fetches, several that work on what it has fetched.
#pragma once

#include <condition_variable>
#include <mutex>
#include <span>
#include <vector>

#include "libcore/system/worker_pool.h"

namespace apsyn {

/// fill(item) on the caller's thread, one item after the other until it returns false; use(item, thread) on
/// up to n_threads others, in any order, each item being filled again when its use has ended. While no item
/// is free, the caller uses one itself. `thread` is 0 for the caller, at most n_threads, and nobody else's
/// meanwhile. Waits for all, and rethrows the first exception.
template <class Item, class Fill, class Use>
void produce_consume(std::span<Item> items, unsigned n_threads, Fill fill, Use use) {
  if (n_threads == 0 || items.size() < 2) {
    while (fill(items[0])) use(items[0], 0u);
    return;
  }
  std::mutex mutex;
  std::condition_variable freed;
  std::vector<Item*> empty;
  for (Item& item : items) empty.push_back(&item);
  TaskGroup group(n_threads + 1);
  const auto use_and_free = [&](Item* item, unsigned thread) {
    const auto free = [&] {
      std::lock_guard lock(mutex);
      empty.push_back(item);
      freed.notify_one();
    };
    try {
      use(*item, thread);
    } catch (...) {
      free();
      throw;
    }
    free();
  };
  while (!group.failed()) {
    std::unique_lock lock(mutex);
    if (empty.empty()) {
      lock.unlock();
      if (group.help()) continue;
      lock.lock();
      freed.wait(lock, [&] { return !empty.empty(); });
    }
    Item* const item = empty.back();
    empty.pop_back();
    lock.unlock();
    if (!fill(*item)) break;
    group.run([&use_and_free, item](unsigned thread) { use_and_free(item, thread); });
  }
  group.wait();
}

}  // namespace apsyn
