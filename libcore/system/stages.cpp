// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/system/stages.h"

#include <chrono>
#include <cstddef>
#include <mutex>

#include "libcore/system/worker_pool.h"

namespace apsyn {
namespace {

class StageRunner {
 public:
  StageRunner(unsigned n_threads, std::vector<Stage>& stages)
      : stages_(stages), is_busy_(stages.size(), 0), group_(n_threads) {}

  void run() {
    {
      std::lock_guard lock(mutex_);
      start_ready();
    }
    group_.serve();
  }

 private:
  /// Under the lock.
  void start_ready() {
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      if (is_busy_[i] || group_.failed() || !stages_[i].take()) continue;
      is_busy_[i] = 1;
      group_.run([this, i](unsigned) { work(i); });
    }
  }

  void work(std::size_t i) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    stages_[i].work();
    const std::chrono::duration<double> busy = Clock::now() - begin;
    std::lock_guard lock(mutex_);
    stages_[i].busy_s += busy.count();
    stages_[i].give();
    is_busy_[i] = 0;
    start_ready();
  }

  std::vector<Stage>& stages_;
  std::mutex mutex_;
  std::vector<char> is_busy_;
  TaskGroup group_;  // last, because its tasks use the others
};

}  // namespace

void run_stages(unsigned n_threads, std::vector<Stage>& stages) {
  StageRunner(n_threads, stages).run();
}

}  // namespace apsyn
