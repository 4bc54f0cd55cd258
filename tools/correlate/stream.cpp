// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/correlate/stream.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/channelise/channelise.h"
#include "kernels/channelise/channelise_cuda.h"
#include "kernels/correlate/fx_engine.h"
#include "libcore/array/delays.h"
#include "libcore/cli/tool.h"
#include "libcore/measures/delay_tracker.h"
#include "libcore/streams/open_voltages.h"
#include "libcore/system/device.h"
#include "libcore/voltage/block_memory.h"
#include "libcore/voltage/voltage.h"
#include "libcore/voltage/voltage_pipeline.h"
#include "tools/correlate/plan.h"

namespace apsyn {

StreamCorrelator::StreamCorrelator(Tool& tool, const CorrelateOptions& options, const Device& device,
                                   CorrelatePlan& plan, DelayTracker& delays)
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

void StreamCorrelator::correlate(const StreamPart& part, OpenedVoltages& voltages,
                                 const std::function<void(FxResult&)>& keep) {
  plan_part(part, plan_);
  const auto engine = make_engine(device_, plan_, delays_.nothing_to_do() ? nullptr : &delays_);
  const auto counter = std::make_shared<SampleCounter>(plan_.header, part.first_sample, part.end_sample(),
                                                       options_.voltage.n_threads);
  // while samples are in the cache of the thread that has read them
  voltages.reader.watch([counter](const VoltageBlock& block, std::size_t first, std::size_t n_time,
                                  unsigned thread) { counter->add_extremes(block, first, n_time, thread); });
  const double before_s = totals_.data_s;
  const double part_s = static_cast<double>(part.first_sample - options_.voltage.first_sample) *
                        plan_.header.sample_s,
               gulp_s = static_cast<double>(plan_.gulp_samples) * plan_.header.sample_s,
               integration_s = static_cast<double>(plan_.integration.n_spectra) * plan_.spectrum_s;
  StreamSteps<FxResult> steps;
  if (plan_.on_gpu)
    steps.pin = [&](VoltageBlock& block) {
      return pin_block(*engine, plan_.header, plan_.cuda.four_bit, plan_.gulp_samples, block);
    };
  steps.read = [&](VoltageBlock& block) {
    return realtime_.time_read([&] { return voltages.read(block, plan_.gulp_samples); });
  };
  steps.work = [&](StreamItem<FxResult>& item) {
    // of the middle of the integration that ends in this gulp, or of the gulp
    const double at_s = part_s + static_cast<double>(engine->spectra_done()) * plan_.spectrum_s;
    if (voltages.renew_gains(totals_.data_s, std::max(0.0, at_s + (gulp_s - integration_s) / 2))) {
      engine->settle();
      plan_.mean.gains = gains_of(plan_, voltages);
    }
    if (!item.last) counter->add_missing(item.block);
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
  voltages.reader.watch({});
  totals_.clipped_s += engine->clipped_share() * (totals_.data_s - before_s);
  add_counts(counter->counts(), totals_.counts);
}

void StreamCorrelator::note(const FxResult& result) {
  totals_.data_s += static_cast<double>(result.n_spectra) * plan_.spectrum_s;
  progress_.update(totals_.data_s);
}

void StreamCorrelator::advance_to(double data_s) {
  totals_.data_s = data_s;
  progress_.update(data_s);
  if (options_.realtime.report && progress_.on()) realtime_.report(data_s, false);
}

std::unique_ptr<FxEngine> make_engine(const Device& device, const CorrelatePlan& plan, DelaySource* delays) {
  if (device.kind == Device::Kind::cpu)
    return make_fx_engine(std::make_shared<Channeliser>(plan.f, delays), plan.x, plan.integration, plan.mean);
  return make_cuda_fx_engine(make_cuda_channeliser(plan.cuda, delays, device.index), plan.x, plan.integration,
                             plan.mean, device.index, plan.cuda_floats);
}

}  // namespace apsyn
