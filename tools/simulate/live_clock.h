// SPDX-License-Identifier: GPL-3.0-or-later
// The pace of a recorder, for samples that are made rather than recorded.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace apsyn {

class LiveClock {
 public:
  /// Samples are handed out in pieces of this length, as a recorder's packets are.
  static constexpr double kPiece_s = 0.01;

  /// Waits until `data_s` of the stream would have been recorded, counted from when the first call began to
  /// wait.
  void wait_until(double data_s) {
    const Clock::time_point now = Clock::now();
    if (!begun_) begin_ = now;
    begun_ = true;
    const Clock::time_point due = begin_ + std::chrono::duration_cast<Clock::duration>(Seconds(data_s));
    late_s_ = std::max(late_s_, Seconds(now - due).count());
    std::this_thread::sleep_until(due);
  }
  /// The longest that a piece has been late.
  double late_s() const { return late_s_; }

 private:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  bool begun_ = false;
  Clock::time_point begin_;
  double late_s_ = 0;
};

}  // namespace apsyn
