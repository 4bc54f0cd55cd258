// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/cli/realtime.h"

#include <CLI/CLI.hpp>

#include <filesystem>

#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/files/output.h"

namespace apsyn {

void add_realtime_options(Tool& tool, RealtimeOptions& options) {
  tool.heading(headings::kCompute);
  tool.app().add_flag("--realtime", options.report,
                      "say how many times faster than recorded the data go through");
  tool.app().add_flag("--require-realtime", options.require,
                      "exit with status 1 when that was slower than recorded");
}

void check_realtime(const RealtimeOptions& options, double work_s, double data_s) {
  if (!options.require || work_s <= data_s) return;
  publish_outputs();
  throw FailureError("--require-realtime: {} of data took {}; the output is complete",
                     format_duration(data_s), format_duration(work_s));
}

RealtimeMeter::RealtimeMeter(const std::string& input) {
  std::error_code ignored;
  waits_count_ = input != "-" && std::filesystem::is_regular_file(input, ignored);
}

double RealtimeMeter::work_s() const {
  if (!begun_) return 0;
  return std::chrono::duration<double>(Clock::now() - begin_).count() - waited_s_;
}

void RealtimeMeter::note_gulp(double data_s) {
  const double late_s = work_s() - data_s;
  ++n_gulps_;
  if (late_s > latest_s_) {
    latest_s_ = late_s;
    latest_gulp_ = n_gulps_;
  }
  log_verbose("gulp {}: {} of data in {}, {}", n_gulps_, format_duration(data_s), format_duration(work_s()),
              lateness(late_s));
}

void RealtimeMeter::report(double data_s, bool forced) {
  const Clock::time_point now = Clock::now();
  if (!forced && now - last_ < std::chrono::seconds(1)) return;
  last_ = now;
  const double work = std::max(1e-9, work_s());
  log_info("{:.3g} times as fast as recorded: {} of data in {}, {}{}", data_s / work, format_duration(data_s),
           format_duration(work), lateness(work - data_s),
           forced && latest_gulp_ > 0 ? fmt::format("; of {} gulps number {} was the latest, {}", n_gulps_,
                                                    latest_gulp_, lateness(latest_s_))
                                      : std::string());
}

std::string RealtimeMeter::lateness(double late_s) {
  return late_s > 0 ? fmt::format("{} late", format_duration(late_s)) : std::string("not late");
}

double RealtimeMeter::thread_cpu_s() {
  std::timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace apsyn
