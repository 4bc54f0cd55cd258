// SPDX-License-Identifier: GPL-3.0-or-later
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "libcore/cli/terminal.h"
#include "libcore/cli/tool.h"

namespace apsyn {

struct Progress::State {
  using Clock = std::chrono::steady_clock;
  std::string prefix, unit;
  double total = 0;
  bool on = false;
  std::mutex mutex;
  Clock::time_point begin = Clock::now(), last{};
};

Progress::Progress(Tool& tool, std::string what, double total, std::string unit)
    : state_(std::make_unique<State>()) {
  const CommonOptions& common = tool.common();
  state_->prefix = fmt::format("{}: {}", tool.name(), what);
  state_->unit = std::move(unit);
  state_->total = total;
  state_->on =
      common.progress == "on" || (common.progress == "auto" && !common.quiet && ::isatty(STDERR_FILENO));
}

Progress::~Progress() {
  if (state_->on) show_progress_line("");
}

bool Progress::on() const {
  return state_->on;
}

void Progress::update(double done, const std::string& more) {
  if (!state_->on) return;
  std::lock_guard lock(state_->mutex);
  const auto now = State::Clock::now();
  if (now - state_->last < std::chrono::milliseconds(200)) return;
  state_->last = now;
  const double seconds = std::chrono::duration<double>(now - state_->begin).count();
  const double rate = done / std::max(seconds, 1e-9);
  std::string line = state_->prefix;
  if (state_->total > 0) line += fmt::format(" {:3.0f} %", 100.0 * std::min(1.0, done / state_->total));
  line += fmt::format(", {:.4g} {}/s", rate, state_->unit);
  if (state_->total > 0 && rate > 0)
    line += fmt::format(", {} left", format_duration(std::max(0.0, state_->total - done) / rate));
  if (!more.empty()) line += ", " + more;
  show_progress_line(line);
}

}  // namespace apsyn
