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
  /// Adds to what goes on beside other parts of the present stage: shown behind it.
  void add_part(const std::string& part, double seconds);
  void set_rate(double count, const std::string& unit);
  /// Stages, the unaccounted share, wall and CPU time, peak memory, and the rate.
  std::string report() const;

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now(), stage_begin_{};
  struct Stage {
    std::string name;
    double seconds = 0;
    std::vector<std::pair<std::string, double>> parts;
  };
  std::vector<Stage> stages_;
  std::size_t current_ = SIZE_MAX;
  double rate_count_ = 0;
  std::string rate_unit_;
};

}  // namespace apsyn
