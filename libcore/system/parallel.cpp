// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/system/parallel.h"

#include <algorithm>
#include <cstdint>
#include <system_error>

namespace apsyn {
namespace {

/// Threads that stay: starting sixteen for a millisecond's work would take longer than the work.
class Team {
 public:
  /// Calls run(1) .. run(n), or fewer, beside the caller's own run(0), which does all that others have not
  /// begun: on a busy machine some wake only when nothing is left, and nobody waits for these. Where the
  /// system gives no more threads those that there are do the work. False, with nothing done, while others
  /// use the team, a caller within a call among them.
  bool try_run(unsigned n, const std::function<void(unsigned thread)>& run) {
    if (in_use_.test_and_set()) return false;
    {
      std::lock_guard lock(mutex_);
      try {
        for (; n_threads_ < n; ++n_threads_)
          std::thread([this, index = n_threads_ + 1] { serve(index); }).detach();
      } catch (const std::system_error&) {
      }
      run_ = &run;
      n_called_ = std::min(n, n_threads_);
      ++call_;
    }
    begin_.notify_all();
    run(0);
    {
      std::unique_lock lock(mutex_);
      n_called_ = 0;
      end_.wait(lock, [&] { return n_running_ == 0; });
    }
    in_use_.clear();
    return true;
  }

 private:
  void serve(unsigned index) {
    std::uint64_t served = 0;
    std::unique_lock lock(mutex_);
    while (true) {
      begin_.wait(lock, [&] { return call_ != served && index <= n_called_; });
      served = call_;
      const auto& run = *run_;
      ++n_running_;
      lock.unlock();
      run(index);
      lock.lock();
      if (--n_running_ == 0) end_.notify_one();
    }
  }

  std::atomic_flag in_use_;
  std::mutex mutex_;
  std::condition_variable begin_, end_;
  const std::function<void(unsigned thread)>* run_ = nullptr;
  std::uint64_t call_ = 0;
  unsigned n_threads_ = 0, n_called_ = 0, n_running_ = 0;
};

}  // namespace

void parallel_for(unsigned n_threads, std::size_t n_items,
                  const std::function<void(std::size_t item, unsigned thread)>& work) {
  const auto n_used = static_cast<unsigned>(std::min<std::size_t>(std::max(1u, n_threads), n_items));
  if (n_used <= 1) {
    for (std::size_t item = 0; item < n_items; ++item) work(item, 0);
    return;
  }
  std::atomic<std::size_t> next{0};
  FirstError error;
  auto run = [&](unsigned thread) {
    try {
      for (std::size_t item = next++; item < n_items; item = next++) work(item, thread);
    } catch (...) {
      error.keep();
      next = n_items;
    }
  };
  // Never destroyed: its threads end with the process.
  static Team& team = *new Team;
  if (!team.try_run(n_used - 1, run)) {
    std::vector<std::thread> threads;
    threads.reserve(n_used - 1);
    try {
      for (unsigned thread = 1; thread < n_used; ++thread) threads.emplace_back(run, thread);
    } catch (const std::system_error&) {  // the caller and those that could be started do all
    }
    run(0);
    for (std::thread& thread : threads) thread.join();
  }
  error.rethrow();
}

}  // namespace apsyn
