// SPDX-License-Identifier: GPL-3.0-or-later
// Stages of a loop over blocks of data that go on beside each other: while one block is computed, the next is
// read and the former is written, by the process's worker threads.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace apsyn {

/// One call at a time, on any thread. take() and give() of all stages are called under one lock, and so may
/// use what the stages share; what work() uses is its own, or what take() has taken.
struct Stage {
  std::string name;
  std::function<bool()> take;  ///< false: nothing to do for now, or no place for the outcome
  std::function<void()> work;
  std::function<void()> give;
  double busy_s = 0;  ///< wall time that work() took, of all calls
};

/// Runs the stages until none of them takes anything, on the caller's thread and n_threads - 1 others. Stages
/// that stand first are asked first. The first exception ends all and is rethrown.
void run_stages(unsigned n_threads, std::vector<Stage>& stages);

}  // namespace apsyn
