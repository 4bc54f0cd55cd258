// SPDX-License-Identifier: GPL-3.0-or-later
// The process's worker threads. They are started once and shared by all that runs at the same time: what a
// reader decodes, what an engine computes, and what one of these does within the other.
#pragma once

#include <functional>
#include <memory>
#include <vector>

namespace apsyn {

/// Work that other threads may join. The caller always takes part, so that it ends however few join: a worker
/// that is busy elsewhere is never waited for.
class SharedWork {
 public:
  /// run(thread) is called by up to n_threads - 1 workers at a time, each with a number of its own from 1 on,
  /// whenever offer() was called since it last returned.
  SharedWork(unsigned n_threads, std::function<void(unsigned thread)> run);
  /// Waits for the workers within run().
  ~SharedWork();
  SharedWork(const SharedWork&) = delete;
  SharedWork& operator=(const SharedWork&) = delete;

  /// Wakes up to `n_workers` that do nothing.
  void offer(unsigned n_workers);
  /// Lets nobody else join until the next offer().
  void withdraw();

 private:
  friend class WorkerPool;
  std::function<void(unsigned)> run_;
  std::vector<unsigned> free_;  ///< numbers that no worker has
  unsigned n_running_ = 0;
  bool open_ = false;
};

/// Tasks that a thread hands out one by one, while it goes on preparing the next.
class TaskGroup {
 public:
  /// Tasks run on up to n_threads - 1 workers at a time, and on the caller within help() and wait().
  explicit TaskGroup(unsigned n_threads);
  /// Drops the tasks that have not begun.
  ~TaskGroup();

  /// Adds a task: task(thread), thread below n_threads and its own while the task runs.
  void run(std::function<void(unsigned thread)> task);
  /// Runs one task that nobody has begun on the caller's thread, as thread 0; false when there is none.
  bool help();
  /// Whether a task has thrown.
  bool failed() const;
  /// Returns when all tasks have ended; rethrows the first exception of any. The others are run nevertheless.
  void wait();
  /// The same for tasks that add others to the group: meanwhile the caller runs them as they come, and joins
  /// whatever other work is offered. For a caller that holds no lock.
  void serve();

 private:
  struct State;
  void work(unsigned thread);

  std::unique_ptr<State> state_;
  SharedWork shared_;
};

}  // namespace apsyn
