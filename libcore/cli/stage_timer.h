// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace apsyn {

/// Wall time by named stage, in order of first appearance; until a tool names one it is "start".
class StageTimer {
 public:
  StageTimer() { start("start"); }
  void start(const std::string& stage);
  void stop();
  void set_rate(double count, const std::string& unit);
  /// Stages, the unaccounted share, wall and CPU time, peak memory, and the rate.
  std::string report() const;

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now(), stage_begin_{};
  std::vector<std::pair<std::string, double>> seconds_;
  std::size_t current_ = SIZE_MAX;
  double rate_count_ = 0;
  std::string rate_unit_;
};

}  // namespace apsyn
