// SPDX-License-Identifier: GPL-3.0-or-later
// How fast the data go through, against the rate at which they were recorded.
#pragma once

#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <string>

#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/cli/tool.h"
#include "libcore/files/output.h"

namespace apsyn {

struct RealtimeOptions {
  bool report = false, require = false;
};

/// --realtime and --require-realtime.
inline void add_realtime_options(Tool& tool, RealtimeOptions& options) {
  tool.heading(headings::kCompute);
  tool.app().add_flag("--realtime", options.report,
                      "say how many times faster than recorded the data go through");
  tool.app().add_flag("--require-realtime", options.require,
                      "exit with status 1 when that was slower than recorded");
}

/// When the output is complete. FailureError when it came later than --require-realtime allows.
inline void check_realtime(const RealtimeOptions& options, double work_s, double data_s) {
  if (!options.require || work_s <= data_s) return;
  publish_outputs();
  throw FailureError("--require-realtime: {} of data took {}; the output is complete",
                     format_duration(data_s), format_duration(work_s));
}

/// Time counts from the arrival of the first samples. Waiting for a pipe to deliver does not count: a
/// recorder that sends at its own rate is kept up with when there is time left to wait.
class RealtimeMeter {
 public:
  explicit RealtimeMeter(const std::string& input) {
    std::error_code ignored;
    waits_count_ = input != "-" && std::filesystem::is_regular_file(input, ignored);
  }

  /// Calls read(); from one thread.
  template <class Read>
  bool time_read(const Read& read) {
    const Clock::time_point begin = Clock::now();
    const double cpu_begin = thread_cpu_s();
    const bool more = read();
    const Clock::time_point end = Clock::now();
    if (!begun_) {
      begin_ = end;
      begun_ = true;
    } else if (!waits_count_) {
      const double waited = std::chrono::duration<double>(end - begin).count() - (thread_cpu_s() - cpu_begin);
      waited_s_ = waited_s_ + std::max(0.0, waited);
    }
    return more;
  }

  /// Seconds of work so far.
  double work_s() const {
    if (!begun_) return 0;
    return std::chrono::duration<double>(Clock::now() - begin_).count() - waited_s_;
  }

  /// After each gulp of data, `data_s` being all that is done: with --verbose how late it is, one by one.
  void note_gulp(double data_s) {
    const double late_s = work_s() - data_s;
    ++n_gulps_;
    if (late_s > latest_s_) {
      latest_s_ = late_s;
      latest_gulp_ = n_gulps_;
    }
    log_verbose("gulp {}: {} of data in {}, {}", n_gulps_, format_duration(data_s), format_duration(work_s()),
                lateness(late_s));
  }

  /// At most once a second when not forced: "3.2 times as fast as recorded" and how late that is.
  void report(double data_s, bool forced) {
    const Clock::time_point now = Clock::now();
    if (!forced && now - last_ < std::chrono::seconds(1)) return;
    last_ = now;
    const double work = std::max(1e-9, work_s());
    log_info("{:.3g} times as fast as recorded: {} of data in {}, {}{}", data_s / work,
             format_duration(data_s), format_duration(work), lateness(work - data_s),
             forced && latest_gulp_ > 0 ? fmt::format("; of {} gulps number {} was the latest, {}", n_gulps_,
                                                      latest_gulp_, lateness(latest_s_))
                                        : std::string());
  }

 private:
  using Clock = std::chrono::steady_clock;
  static std::string lateness(double late_s) {
    return late_s > 0 ? fmt::format("{} late", format_duration(late_s)) : std::string("not late");
  }
  static double thread_cpu_s() {
    std::timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  bool waits_count_ = true;
  std::atomic<bool> begun_ = false;
  std::atomic<double> waited_s_ = 0;
  Clock::time_point begin_, last_ = Clock::now();
  std::size_t n_gulps_ = 0, latest_gulp_ = 0;
  double latest_s_ = 0;  ///< of the latest gulp
};

}  // namespace apsyn
