// SPDX-License-Identifier: GPL-3.0-or-later
// Work in a process of its own, for libraries that trust the files that they read: damaged ones make them ask
// for gigabytes, read wild addresses, loop without end or end the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace apsyn {

struct IsolationLimits {
  std::uint64_t max_bytes = 256u << 20;  ///< of memory beyond what this process has
  unsigned max_cpu_s = 0;                ///< of processor time; 0: no limit
};

enum class IsolatedEnd {
  finished,
  out_of_memory,
  out_of_time,
  died,  ///< of a signal, or by an end of its own
};

struct IsolatedResult {
  IsolatedEnd end = IsolatedEnd::finished;
  std::string bytes;  ///< what the work returned, where it finished
};

/// Runs `work` in a forked process, silent and gone with its parent, and waits. An error of ours that the
/// work throws is thrown here; another exception counts as a death. FailureError when no process can be
/// started. `work` must leave no trace but in memory and start no thread.
IsolatedResult run_isolated(const IsolationLimits& limits, const std::function<std::string()>& work);

/// Something that must not be under way when a process is forked, and need not wait until the last one has
/// finished: run_isolated() calls it as soon as it has started the last of n_processes. One at a time.
class AfterLastFork {
 public:
  AfterLastFork(std::size_t n_processes, std::function<void()> work);
  /// What has not been called by now never is.
  ~AfterLastFork();
  AfterLastFork(const AfterLastFork&) = delete;
  AfterLastFork& operator=(const AfterLastFork&) = delete;
};

}  // namespace apsyn
