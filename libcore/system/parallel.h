// SPDX-License-Identifier: GPL-3.0-or-later
// Threads over independent work, and a bounded read | compute | write pipeline.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "libcore/base/view.h"
#include "libcore/system/first_error.h"

namespace apsyn {

/// Calls work(item, thread) for item = 0 .. n_items-1 on up to n_threads threads, dynamically (fewer where
/// the system gives no more); waits for all and rethrows the first exception. Results must not depend on
/// which thread takes which item.
void parallel_for(unsigned n_threads, std::size_t n_items,
                  const std::function<void(std::size_t item, unsigned thread)>& work);

/// Buffer::resize() by all threads: first touching the memory of a large array is what takes the time.
template <class T, std::size_t Rank>
void resize_by_threads(unsigned n_threads, const typename Buffer<T, Rank>::Shape& shape,
                       Buffer<T, Rank>& to) {
  constexpr std::size_t piece = std::size_t{1} << 19;
  to.resize_for_overwrite(shape);
  const std::span<T> all = to.view().span();
  parallel_for(n_threads, (all.size() + piece - 1) / piece, [&](std::size_t item, unsigned) {
    const auto part = all.subspan(item * piece, std::min(piece, all.size() - item * piece));
    std::fill(part.begin(), part.end(), T{});
  });
}

/// Has the system clear the huge pages that begin in new memory, which holds anything afterwards. Threads
/// that fill parts of an untouched page at the same time would each clear a page for it, and all but one for
/// nothing.
void touch_pages(unsigned n_threads, std::span<std::byte> memory);

/// Buffer::resize_for_overwrite() for threads that then fill parts of it.
template <class T, std::size_t Rank>
void resize_for_threads(unsigned n_threads, const typename Buffer<T, Rank>::Shape& shape,
                        Buffer<T, Rank>& to) {
  const std::size_t before = to.capacity();
  to.resize_for_overwrite(shape);
  if (to.capacity() != before) touch_pages(n_threads, std::as_writable_bytes(to.view().span()));
}

/// A bounded queue between two threads. close() ends it; a closed queue lets nobody wait.
template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}
  /// False when the queue was closed; the item is then dropped.
  bool push(T item) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || items_.size() < capacity_; });
    if (closed_) return false;
    items_.push_back(std::move(item));
    changed_.notify_all();
    return true;
  }
  /// Empty when the queue is closed and drained.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    T item = std::move(items_.front());
    items_.pop_front();
    changed_.notify_all();
    return item;
  }
  void close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  std::size_t capacity_;
  std::deque<T> items_;
  bool closed_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
};

/// Runs read -> compute -> write with each stage on its own thread (compute on the caller's) and at most
/// `depth` items in flight between neighbours. Items are recycled: `make` builds 2*depth + 3 of them.
/// read(item) returns false at the end; compute(item) may return void; order is kept. The first exception of
/// any stage ends all and is rethrown.
template <class Item, class Read, class Compute, class Write>
void run_pipeline(std::size_t depth, const std::function<Item()>& make, Read read, Compute compute,
                  Write write) {
  BoundedQueue<Item> free_items(2 * depth + 3), full(depth), done(depth);
  for (std::size_t i = 0; i < 2 * depth + 3; ++i) free_items.push(make());
  FirstError error;
  auto fail = [&] {
    error.keep();
    free_items.close();
    full.close();
    done.close();
  };
  const auto read_all = [&] {
    try {
      while (auto item = free_items.pop()) {
        if (error.any() || !read(*item)) break;
        if (!full.push(std::move(*item))) break;
      }
      full.close();
    } catch (...) {
      fail();
    }
  };
  const auto write_all = [&] {
    try {
      while (auto item = done.pop()) {
        if (error.any()) break;
        write(*item);
        free_items.push(std::move(*item));
      }
    } catch (...) {
      fail();
    }
  };
  std::thread reader, writer;
  try {
    reader = std::thread(read_all);
    writer = std::thread(write_all);
    while (auto item = full.pop()) {
      if (error.any()) break;
      compute(*item);
      if (!done.push(std::move(*item))) break;
    }
  } catch (...) {
    fail();
  }
  done.close();
  free_items.close();
  for (std::thread* thread : {&reader, &writer})
    if (thread->joinable()) thread->join();
  error.rethrow();
}

}  // namespace apsyn
