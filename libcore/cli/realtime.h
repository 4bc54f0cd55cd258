// SPDX-License-Identifier: GPL-3.0-or-later
// How fast the data go through, against the rate at which they were recorded.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <string>

#include "libcore/cli/tool.h"

namespace apsyn {

struct RealtimeOptions {
  bool report = false, require = false;
};

/// --realtime and --require-realtime.
void add_realtime_options(Tool& tool, RealtimeOptions& options);

/// When the output is complete. FailureError when it came later than --require-realtime allows.
void check_realtime(const RealtimeOptions& options, double work_s, double data_s);

/// Time counts from the arrival of the first samples. Waiting for a pipe to deliver does not count: a
/// recorder that sends at its own rate is kept up with when there is time left to wait.
class RealtimeMeter {
 public:
  explicit RealtimeMeter(const std::string& input);

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
  double work_s() const;

  /// After each gulp of data, `data_s` being all that is done: with --verbose how late it is, one by one.
  void note_gulp(double data_s);

  /// At most once a second when not forced: "3.2 times as fast as recorded" and how late that is.
  void report(double data_s, bool forced);

 private:
  using Clock = std::chrono::steady_clock;
  static std::string lateness(double late_s);
  static double thread_cpu_s();

  bool waits_count_ = true;
  std::atomic<bool> begun_ = false;
  std::atomic<double> waited_s_ = 0;
  Clock::time_point begin_, last_ = Clock::now();
  std::size_t n_gulps_ = 0, latest_gulp_ = 0;
  double latest_s_ = 0;  ///< of the latest gulp
};

}  // namespace apsyn
