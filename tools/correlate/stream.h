// SPDX-License-Identifier: GPL-3.0-or-later
// Parts of a stream through F and X.
#pragma once

#include <algorithm>
#include <functional>

#include "kernels/voltage_summary/sample_counts.h"
#include "libcore/cli/realtime.h"
#include "libcore/voltage/block_memory.h"
#include "libcore/voltage/voltage_pipeline.h"
#include "tools/correlate/engine.h"
#include "tools/correlate/options.h"
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
                   DelayTracker& delays)
      : options_(options),
        device_(device),
        plan_(plan),
        delays_(delays),
        progress_(tool, "correlating",
                  static_cast<double>(std::max<std::int64_t>(0, plan.n_samples)) * plan.header.sample_s,
                  "s of data"),
        realtime_(options.inputs.at(0)) {
    totals_.counts = SampleCounter(plan.header).counts();
  }

  /// Calls keep(result) with one integration after the other, from another thread; what it holds may be
  /// taken.
  void correlate(const StreamPart& part, OpenedVoltages& voltages,
                 const std::function<void(FxResult&)>& keep) {
    plan_part(part, plan_);
    const auto engine = make_engine(device_, plan_, delays_.nothing_to_do() ? nullptr : &delays_);
    SampleCounter counter(plan_.header, part.first_sample, part.end_sample());
    const double before_s = totals_.data_s;
    StreamSteps<FxResult> steps;
    if (plan_.on_gpu)
      steps.pin = [&](VoltageBlock& block) {
        return pin_block(*engine, plan_.header, plan_.gulp_samples, block);
      };
    steps.read = [&](VoltageBlock& block) {
      if (!realtime_.time_read([&] { return voltages.read(block, plan_.gulp_samples); })) return false;
      counter.add(block);
      return true;
    };
    steps.work = [&](StreamItem<FxResult>& item) {
      process_item(*engine, item);
      advance_to(before_s + static_cast<double>(engine->spectra_done()) * plan_.spectrum_s);
    };
    steps.write = [&](StreamItem<FxResult>& item) {
      for (std::size_t i = 0; i < item.n_results; ++i) {
        item.results[i].record.index += part.first_record;
        keep(item.results[i]);
      }
    };
    run_stream(steps);
    totals_.clipped_s += engine->clipped_share() * (totals_.data_s - before_s);
    add_counts(counter.counts(), totals_.counts);
  }

  /// Another process has made an integration.
  void note(const FxResult& result) {
    totals_.data_s += static_cast<double>(result.n_spectra) * plan_.spectrum_s;
    progress_.update(totals_.data_s);
  }

  CorrelatedTotals& totals() { return totals_; }
  RealtimeMeter& realtime() { return realtime_; }

 private:
  void advance_to(double data_s) {
    totals_.data_s = data_s;
    progress_.update(data_s);
    if (options_.realtime.report && progress_.on()) realtime_.report(data_s, false);
  }

  const CorrelateOptions& options_;
  const Device& device_;
  CorrelatePlan& plan_;
  DelayTracker& delays_;
  Progress progress_;
  RealtimeMeter realtime_;
  CorrelatedTotals totals_;
};

}  // namespace apsyn
