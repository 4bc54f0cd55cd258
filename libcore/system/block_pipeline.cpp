// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/system/block_pipeline.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <limits>
#include <mutex>
#include <set>
#include <utility>

#include "libcore/system/worker_pool.h"

namespace apsyn {
namespace {

class Blocks {
 public:
  Blocks(unsigned n_threads, std::size_t n_open, const BlockSteps& steps)
      : n_open_(std::max<std::size_t>(1, n_open)),
        steps_(steps),
        next_(steps.then.size()),
        waiting_(steps.then.size()),
        group_(n_threads) {}

  void run() {
    group_.run([this](unsigned) { prepare(0); });
    group_.serve();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  /// When one thread would make a call: the block, its step, and the item.
  struct Moment {
    std::size_t block, step, item;
    auto operator<=>(const Moment&) const = default;
  };

  /// False: the call failed, or one before it.
  template <class Call>
  bool guard(const Moment& moment, Call call) {
    {
      std::lock_guard lock(mutex_);
      if (error_ && moment > failed_) return false;
    }
    try {
      call();
      return true;
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (!error_ || moment < failed_) {
        error_ = std::current_exception();
        failed_ = moment;
      }
      return false;
    }
  }

  void prepare(std::size_t block) {
    std::optional<std::size_t> n_items;
    if (!guard({block, 0, 0}, [&] { n_items = steps_.prepare(block); }) || !n_items) return;
    bool goes_on = false;
    {
      std::lock_guard lock(mutex_);
      left_.push_back(n_items);
      goes_on = left_.size() < n_open_;
      prepared_ = block + 1;
      waits_for_room_ = !goes_on;
    }
    if (goes_on) group_.run([this, block](unsigned) { prepare(block + 1); });
    if (*n_items == 0) group_.run([this, block](unsigned) { follow(block, 0); });
    for (std::size_t item = 0; item < *n_items; ++item)
      group_.run([this, block, item](unsigned thread) { work(block, item, thread); });
  }

  void work(std::size_t block, std::size_t item, unsigned thread) {
    guard({block, 1, item}, [&] { steps_.work(block, item, thread); });
    {
      std::lock_guard lock(mutex_);
      if (--*left_[block - first_] > 0) return;
    }
    follow(block, 0);
  }

  /// From a step on, as far as the blocks before this one have come.
  void follow(std::size_t block, std::size_t step) {
    for (; step < steps_.then.size(); ++step) {
      const BlockSteps::Step& own = steps_.then[step];
      if (own.in_order) {
        std::lock_guard lock(mutex_);
        if (next_[step] != block) {
          waiting_[step].insert(block);
          return;
        }
      }
      guard({block, 2 + step, 0}, [&] { own.run(block); });
      if (own.in_order) let_next(step);
    }
    end(block);
  }

  void let_next(std::size_t step) {
    std::optional<std::size_t> next;
    {
      std::lock_guard lock(mutex_);
      if (waiting_[step].erase(++next_[step]) > 0) next = next_[step];
    }
    if (next) group_.run([this, step, block = *next](unsigned) { follow(block, step); });
  }

  void end(std::size_t block) {
    std::optional<std::size_t> next;
    {
      std::lock_guard lock(mutex_);
      left_[block - first_].reset();
      while (!left_.empty() && !left_.front()) {
        left_.pop_front();
        ++first_;
      }
      if (waits_for_room_ && left_.size() < n_open_) {
        waits_for_room_ = false;
        next = prepared_;
      }
    }
    if (next) group_.run([this, block = *next](unsigned) { prepare(block); });
  }

  std::size_t n_open_;
  const BlockSteps& steps_;
  std::mutex mutex_;                             ///< of all that follows
  std::deque<std::optional<std::size_t>> left_;  ///< [block - first_] items; no value: it has ended
  std::size_t first_ = 0, prepared_ = 0;         ///< block; their number
  bool waits_for_room_ = false;                  ///< the next one to be prepared
  std::vector<std::size_t> next_;                ///< [step] block whose turn it is
  std::vector<std::set<std::size_t>> waiting_;   ///< [step] blocks whose turn it is not yet
  Moment failed_{};
  std::exception_ptr error_;
  TaskGroup group_;  ///< destroyed first: its tasks use the rest
};

}  // namespace

void run_blocks(unsigned n_threads, std::size_t n_open, const BlockSteps& steps) {
  Blocks(n_threads, n_open, steps).run();
}

}  // namespace apsyn
