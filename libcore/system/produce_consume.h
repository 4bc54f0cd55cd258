// SPDX-License-Identifier: GPL-3.0-or-later
// One thread that fetches, several that work on what it has fetched.
#pragma once

#include <span>
#include <thread>
#include <vector>

#include "libcore/system/first_error.h"
#include "libcore/system/parallel.h"

namespace apsyn {

/// fill(item) on the caller's thread, one item after the other until it returns false; use(item) on up to
/// n_threads others, in any order, each item being filled again when its use has ended. Without other
/// threads, or with a single item, the caller does both by turns. Waits for all, and rethrows the first
/// exception.
template <class Item, class Fill, class Use>
void produce_consume(std::span<Item> items, unsigned n_threads, Fill fill, Use use) {
  if (n_threads == 0 || items.size() < 2) {
    while (fill(items[0])) use(items[0]);
    return;
  }
  BoundedQueue<Item*> empty(items.size()), full(items.size());
  for (Item& item : items) empty.push(&item);
  FirstError error;
  const auto fail = [&] {
    error.keep();
    empty.close();
    full.close();
  };
  const auto work = [&] {
    try {
      while (const auto item = full.pop()) {
        if (error.any()) return;
        use(**item);
        empty.push(*item);
      }
    } catch (...) {
      fail();
    }
  };
  std::vector<std::thread> threads;
  try {
    for (unsigned i = 0; i < n_threads; ++i) threads.emplace_back(work);
    while (const auto item = empty.pop()) {
      if (error.any() || !fill(**item)) break;
      full.push(*item);
    }
  } catch (...) {
    fail();
  }
  full.close();
  for (std::thread& thread : threads) thread.join();
  error.rethrow();
}

}  // namespace apsyn
