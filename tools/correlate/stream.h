// SPDX-License-Identifier: GPL-3.0-or-later
// Parts of a stream through F and X.
#pragma once

#include <functional>
#include <memory>

#include "kernels/correlate/fx_engine.h"
#include "kernels/voltage_summary/sample_counts.h"
#include "libcore/array/delays.h"
#include "libcore/cli/realtime.h"
#include "libcore/cli/tool.h"
#include "libcore/measures/delay_tracker.h"
#include "libcore/streams/open_voltages.h"
#include "libcore/system/device.h"
#include "tools/correlate/options.h"
#include "tools/correlate/plan.h"
#include "tools/correlate/stream_parts.h"

namespace apsyn {

/// What has been done, by this process alone until the first one is sent what others did.
struct CorrelatedTotals {
  double data_s = 0;
  double clipped_s = 0;  ///< sum over parts of data_s times the share that requantising clipped
  SampleCounts counts;
};

class StreamCorrelator {
 public:
  /// `plan` becomes that of each part. All must outlive it.
  StreamCorrelator(Tool& tool, const CorrelateOptions& options, const Device& device, CorrelatePlan& plan,
                   DelayTracker& delays);

  /// Calls keep(result) with one integration after the other, from another thread; what it holds may be
  /// taken.
  void correlate(const StreamPart& part, OpenedVoltages& voltages,
                 const std::function<void(FxResult&)>& keep);

  /// Another process has made an integration.
  void note(const FxResult& result);

  CorrelatedTotals& totals() { return totals_; }
  RealtimeMeter& realtime() { return realtime_; }

 private:
  void advance_to(double data_s);

  const CorrelateOptions& options_;
  const Device& device_;
  CorrelatePlan& plan_;
  DelayTracker& delays_;
  Progress progress_;
  RealtimeMeter realtime_;
  CorrelatedTotals totals_;
};

/// `delays` may be null; it and the plan must outlive the engine.
std::unique_ptr<FxEngine> make_engine(const Device& device, const CorrelatePlan& plan, DelaySource* delays);

}  // namespace apsyn
