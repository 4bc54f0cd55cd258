// SPDX-License-Identifier: GPL-3.0-or-later
// correlate: voltage stream -> visibilities, in a Measurement Set or a visibility stream.
#include <limits>

#include "libcore/core/output.h"
#include "libcore/core/parallel.h"
#include "libcore/io/visibility_sink.h"
#include "tools/correlate/algorithm.h"
#include "tools/correlate/describe.h"
#include "tools/correlate/engine.h"
#include "tools/correlate/gains.h"
#include "tools/correlate/options.h"
#include "tools/correlate/plan.h"
#include "tools/correlate/sample_report.h"

namespace apsyn {
namespace {

struct Item {
  VoltageBlock block;
  std::shared_ptr<void> pinned;  ///< its memory
  bool last = false;             ///< an empty block behind the stream's end
  std::vector<FxResult> results;
  std::size_t n_results = 0;  ///< used

  FxResult& place() {
    if (results.size() == n_results) results.emplace_back();
    return results[n_results];
  }
};

void run(Tool& tool, CorrelateOptions& options) {
  const Device device = tool.device(CudaSupport::available);
  const std::string output = tool.common().output.empty() ? "-" : tool.common().output;
  if (!tool.common().dry_run) check_output(output, tool.common().overwrite);
  tool.stage("open");
  if (options.voltage.first_sample > 0 || options.voltage.n_samples >= 0)
    options.voltage.margin = [&](const VoltageHeader& header, const ArrayLayout& layout) {
      return range_margin(header, layout, options.n_fine, options.n_taps);
    };
  OpenedVoltages voltages = open_voltages(options.inputs.at(0), options.voltage);
  CorrelatePlan plan = make_plan(tool, options, voltages, device);
  plan.mean.gains = gains_of(options, plan, voltages);
  DelayTracker delays(plan.header.layout, plan.header.start, plan.target);
  choose_arithmetic(options.algorithm, delays.nothing_to_do(), plan);
  for (const std::string& line : describe(plan))
    if (tool.common().dry_run)
      tool.print(line);
    else
      log_verbose("{}", line);
  if (tool.common().dry_run) return;

  if (plan.mean.quantisers.recorder)
    log_info("--van-vleck: {}", plan.mean.quantisers.of_samples
                                    ? "exact, from each pair's levels"
                                    : "approximate, by each input's gain: spectra do not know the lags");
  const auto engine = make_engine(device, plan, delays.nothing_to_do() ? nullptr : &delays);
  const auto sink = make_visibility_sink(output, plan.visibilities, tool.common().overwrite);

  const std::int64_t first_wanted = options.voltage.first_sample, n_wanted = options.voltage.n_samples;
  SampleCounter counter(plan.header, first_wanted,
                        n_wanted < 0 ? std::numeric_limits<std::int64_t>::max() : first_wanted + n_wanted);

  tool.stage("correlate");
  bool ended = false, any_data = false;
  double data_s = 0;
  Progress progress(tool, "correlating",
                    static_cast<double>(std::max<std::int64_t>(0, plan.n_samples)) * plan.header.sample_s,
                    "s of data");
  RealtimeMeter realtime(options.inputs.at(0));
  run_pipeline<Item>(
      1,
      [&] {
        Item item;
        item.pinned = pin_samples(*engine, plan, item.block);
        return item;
      },
      [&](Item& item) {
        if (ended) return false;
        item.last = ended = !realtime.time_read([&] { return voltages.read(item.block, plan.gulp_samples); });
        if (!item.last) counter.add(item.block);
        return true;
      },
      [&](Item& item) {
        if (item.last)
          engine->end_of_stream();
        else
          engine->append(item.block);
        for (item.n_results = 0; engine->next(item.place()); ++item.n_results)
          any_data |= item.results[item.n_results].any_data;
        data_s = static_cast<double>(engine->spectra_done()) * plan.spectrum_s;
        progress.update(data_s);
        if (options.realtime.report && progress.on()) realtime.report(data_s, false);
      },
      [&](Item& item) {
        for (std::size_t i = 0; i < item.n_results; ++i)
          sink->write(item.results[i].record,
                      static_cast<double>(item.results[i].n_spectra) * plan.spectrum_s);
      });
  const double work_s = realtime.work_s();
  if (options.realtime.report || options.realtime.require) realtime.report(data_s, true);
  tool.stage("close");
  const std::vector<std::string> sample_lines = report_samples(counter.counts(), plan.header);
  if (!any_data)
    throw FailureError(
        "{}: no usable data: every sample is missing or flagged, or there is less than one spectrum",
        voltages.reader.name());
  report_clipped(engine->clipped_share(), plan.f.requantise.n_bit, plan.on_gpu);
  sink->add_history(sample_lines);
  sink->commit();
  tool.report_rate(data_s, "s of data");
  check_realtime(options.realtime, work_s, data_s);
}

}  // namespace
}  // namespace apsyn

int main(int argc, char** argv) {
  apsyn::Tool tool("correlate", "cross-multiply the antennas of a voltage stream into visibilities");
  apsyn::CorrelateOptions options;
  declare(tool, options);
  tool.use_ranks(apsyn::Tool::RankUse::shared);
  return tool.run(argc, argv, [&] {
    if (tool.works_alone()) apsyn::run(tool, options);
  });
}
