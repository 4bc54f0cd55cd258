// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/system/worker_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "libcore/system/first_error.h"

namespace apsyn {

/// One lock guards the list of works and all that each of them says about its workers.
class WorkerPool {
 public:
  /// Never destroyed: its threads end with the process.
  static WorkerPool& get() {
    static WorkerPool& pool = *new WorkerPool;
    return pool;
  }

  /// Starts as many threads as the largest work can use; where the system gives no more, those that there are
  /// do the work.
  void add(SharedWork& work, std::size_t n_workers) {
    std::lock_guard lock(mutex_);
    works_.push_back(&work);
    try {
      for (; n_threads_ < n_workers; ++n_threads_)
        std::thread([this] { serve([] { return true; }); }).detach();
    } catch (const std::system_error&) {
    }
  }

  void remove(SharedWork& work) {
    std::unique_lock lock(mutex_);
    work.open_ = false;
    std::erase(works_, &work);
    left_.wait(lock, [&] { return work.n_running_ == 0; });
  }

  void offer(SharedWork& work, unsigned n_workers) {
    unsigned n_wanted = 0;
    {
      std::lock_guard lock(mutex_);
      work.open_ = true;
      n_wanted = std::min(n_workers, n_idle_);
    }
    for (unsigned i = 0; i < n_wanted; ++i) offered_.notify_one();
  }

  void withdraw(SharedWork& work) {
    std::lock_guard lock(mutex_);
    work.open_ = false;
  }

  /// What a worker does, as long as goes_on(), which is asked again after each work and each wake().
  template <class GoesOn>
  void serve(const GoesOn& goes_on) {
    std::unique_lock lock(mutex_);
    while (goes_on()) {
      SharedWork* work = find();
      if (work == nullptr) {
        ++n_idle_;
        offered_.wait(lock);
        --n_idle_;
        continue;
      }
      const unsigned thread = work->free_.back();
      work->free_.pop_back();
      ++work->n_running_;
      lock.unlock();
      work->run_(thread);
      lock.lock();
      work->free_.push_back(thread);
      if (--work->n_running_ == 0) left_.notify_all();
    }
  }

  void wake() {
    std::lock_guard lock(mutex_);
    offered_.notify_all();
  }

 private:
  SharedWork* find() const {
    const auto joinable = [](const SharedWork* work) { return work->open_ && !work->free_.empty(); };
    const auto found = std::find_if(works_.begin(), works_.end(), joinable);
    return found == works_.end() ? nullptr : *found;
  }

  std::mutex mutex_;
  std::condition_variable offered_, left_;
  std::vector<SharedWork*> works_;  // the oldest first
  std::size_t n_threads_ = 0;
  unsigned n_idle_ = 0;
};

SharedWork::SharedWork(unsigned n_threads, std::function<void(unsigned)> run) : run_(std::move(run)) {
  for (unsigned thread = std::max(1u, n_threads) - 1; thread > 0; --thread) free_.push_back(thread);
  WorkerPool::get().add(*this, free_.size());
}

SharedWork::~SharedWork() {
  WorkerPool::get().remove(*this);
}

void SharedWork::offer(unsigned n_workers) {
  WorkerPool::get().offer(*this, n_workers);
}

void SharedWork::withdraw() {
  WorkerPool::get().withdraw(*this);
}

struct TaskGroup::State {
  std::mutex mutex;
  std::condition_variable done;
  std::deque<std::function<void(unsigned)>> tasks;  // that nobody has begun
  unsigned n_running = 0;
  std::atomic<bool> is_waiting = false;  ///< within serve(), for those who run or add tasks
  FirstError error;
};

TaskGroup::TaskGroup(unsigned n_threads)
    : state_(std::make_unique<State>()), shared_(n_threads, [this](unsigned thread) { work(thread); }) {}

TaskGroup::~TaskGroup() {
  std::lock_guard lock(state_->mutex);
  state_->tasks.clear();
}

// Works as long as there are tasks. run() offers the group again after it has added one, so that none is
// overlooked.
void TaskGroup::work(unsigned thread) {
  std::unique_lock lock(state_->mutex);
  while (!state_->tasks.empty()) {
    const auto task = std::move(state_->tasks.front());
    state_->tasks.pop_front();
    if (state_->tasks.empty()) shared_.withdraw();
    ++state_->n_running;
    lock.unlock();
    try {
      task(thread);
    } catch (...) {
      state_->error.keep();
    }
    lock.lock();
    if (--state_->n_running == 0 && state_->tasks.empty()) {
      state_->done.notify_all();
      if (state_->is_waiting.exchange(false)) WorkerPool::get().wake();
    }
    if (thread == 0) return;
  }
}

void TaskGroup::run(std::function<void(unsigned)> task) {
  std::lock_guard lock(state_->mutex);
  state_->tasks.push_back(std::move(task));
  if (state_->is_waiting.exchange(false)) WorkerPool::get().wake();
  shared_.offer(1);
}

bool TaskGroup::help() {
  {
    std::lock_guard lock(state_->mutex);
    if (state_->tasks.empty()) return false;
  }
  work(0);
  return true;
}

bool TaskGroup::failed() const {
  return state_->error.any();
}

void TaskGroup::wait() {
  while (help()) {
  }
  std::unique_lock lock(state_->mutex);
  state_->done.wait(lock, [&] { return state_->n_running == 0 && state_->tasks.empty(); });
  lock.unlock();
  state_->error.rethrow();
}

void TaskGroup::serve() {
  while (true) {
    while (help()) {
    }
    {
      std::lock_guard lock(state_->mutex);
      if (!state_->tasks.empty()) continue;
      if (state_->n_running == 0) break;
      state_->is_waiting = true;
    }
    WorkerPool::get().serve([&] { return state_->is_waiting.load(); });
  }
  state_->error.rethrow();
}

}  // namespace apsyn
