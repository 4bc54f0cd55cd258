// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/cli/stage_timer.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>

#include "libcore/base/units.h"
#include "libcore/system/device.h"

namespace apsyn {

void StageTimer::start(const std::string& stage) {
  stop();
  auto found = std::find_if(stages_.begin(), stages_.end(), [&](const Stage& s) { return s.name == stage; });
  if (found == stages_.end()) found = stages_.insert(stages_.end(), {stage, 0.0, {}});
  current_ = static_cast<std::size_t>(found - stages_.begin());
  stage_begin_ = Clock::now();
}

void StageTimer::stop() {
  if (current_ == SIZE_MAX) return;
  stages_[current_].seconds += std::chrono::duration<double>(Clock::now() - stage_begin_).count();
  current_ = SIZE_MAX;
}

void StageTimer::add_part(const std::string& part, double seconds) {
  if (current_ == SIZE_MAX) return;
  auto& parts = stages_[current_].parts;
  auto found = std::find_if(parts.begin(), parts.end(), [&](const auto& p) { return p.first == part; });
  if (found == parts.end()) found = parts.insert(parts.end(), {part, 0.0});
  found->second += seconds;
}

void StageTimer::set_rate(double count, const std::string& unit) {
  rate_count_ = count;
  rate_unit_ = unit;
}

std::string StageTimer::report() const {
  const double wall = std::chrono::duration<double>(Clock::now() - begin_).count();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  std::string text = "times:";
  double accounted = 0;
  for (const Stage& stage : stages_) {
    text += fmt::format(" {} {:.3f} s", stage.name, stage.seconds);
    for (std::size_t i = 0; i < stage.parts.size(); ++i)
      text += fmt::format("{}{} {:.3f} s{}", i == 0 ? " (" : ", ", stage.parts[i].first,
                          stage.parts[i].second, i + 1 == stage.parts.size() ? " beside each other)" : "");
    text += ",";
    accounted += stage.seconds;
  }
  text +=
      fmt::format(" unaccounted {:.3f} s; wall {:.3f} s, cpu {:.3f} s, peak memory {}",
                  std::max(0.0, wall - accounted), wall, seconds(usage.ru_utime) + seconds(usage.ru_stime),
                  format_bytes(static_cast<double>(peak_memory_bytes())));
  if (!rate_unit_.empty())
    text += fmt::format(", {:.4g} {}/s", rate_count_ / std::max(wall, 1e-9), rate_unit_);
  return text;
}

}  // namespace apsyn
