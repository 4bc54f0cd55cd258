// SPDX-License-Identifier: GPL-3.0-or-later
// correlate: voltage stream -> visibilities, in a Measurement Set or a visibility stream.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libcore/files/output.h"
#include "libcore/imaging/visibility_sink.h"
#include "libcore/voltage/array_delays.h"
#include "tools/correlate/algorithm.h"
#include "tools/correlate/describe.h"
#include "tools/correlate/options.h"
#include "tools/correlate/plan.h"
#include "tools/correlate/sample_report.h"
#include "tools/correlate/shared_stream.h"
#include "tools/correlate/stream.h"
#include "tools/correlate/stream_parts.h"

namespace apsyn {
namespace {

/// Of the first process: reports, and the output in its place.
void finish(Tool& tool, const CorrelateOptions& options, const CorrelatePlan& plan,
            const OpenedVoltages& voltages, StreamCorrelator& correlator, const IntegrationWriter& writer,
            VisibilitySink& sink) {
  const auto& [data_s, clipped_s, counts] = correlator.totals();
  RealtimeMeter& realtime = correlator.realtime();
  const double work_s = realtime.work_s();
  if (options.realtime.report || options.realtime.require) realtime.report(data_s, true);
  tool.stage("close");
  const std::vector<std::string> sample_lines = report_samples(counts, plan.header);
  writer.require_data(voltages.reader.name());
  report_clipped(data_s > 0 ? clipped_s / data_s : 0, plan.f.requantise.n_bit, plan.on_gpu);
  sink.add_history(sample_lines);
  sink.commit();
  tool.report_rate(data_s, "s of data");
  check_realtime(options.realtime, work_s, data_s);
}

void report_van_vleck(const CorrelatePlan& plan) {
  if (!plan.mean.quantisers.recorder) return;
  log_info("--van-vleck: {}", plan.mean.quantisers.of_samples
                                  ? "exact, from each pair's levels"
                                  : "approximate, by each input's gain: spectra do not know the lags");
}

void run(Tool& tool, CorrelateOptions& options) {
  const Device device = tool.device(CudaSupport::available);
  const std::string output = tool.common().output.empty() ? "-" : tool.common().output;
  if (!tool.common().dry_run) check_output(output, tool.common().overwrite);
  if (!can_be_shared(options) && !tool.works_alone()) return;
  tool.stage("open");
  options.voltage.margin = [&](const VoltageHeader& header, const ArrayLayout& layout) {
    return range_margin(header, layout, options.n_fine, options.n_taps);
  };
  options.voltage.n_threads = tool.common().threads;
  options.voltage.keep_4bit = device.kind == Device::Kind::cuda;
  OpenedVoltages voltages = open_voltages(options.inputs.at(0), options.voltage);
  CorrelatePlan plan = make_plan(tool, options, voltages, device);
  plan.mean.gains = gains_of(plan, voltages);
  DelayTracker delays(plan.header.layout, plan.header.start, plan.target);
  choose_arithmetic(options.algorithm, delays.nothing_to_do(), plan);
  tool.report_plan(describe(plan));
  if (tool.common().dry_run) return;

  report_van_vleck(plan);
  const std::optional<Ranks> ranks = readers_of(tool, options, plan);
  if (!ranks) return;
  const auto parts = parts_of(plan, options.voltage, ranks->size, tool.common().max_memory_bytes / 8);
  std::unique_ptr<VisibilitySink> sink;
  std::optional<IntegrationWriter> writer;
  if (ranks->root()) {
    sink = make_visibility_sink(output, plan.visibilities, tool.common().overwrite);
    writer.emplace(*sink, plan, options.drop_incomplete);
  }
  tool.stage("correlate");
  StreamCorrelator correlator(tool, options, device, plan, delays);
  correlate_parts(parts, *ranks, options, plan, voltages, correlator, writer ? &*writer : nullptr);
  add_to_first(*ranks, correlator.totals().counts, correlator.totals().clipped_s);
  if (writer) finish(tool, options, plan, voltages, correlator, *writer, *sink);
}

}  // namespace
}  // namespace apsyn

int main(int argc, char** argv) {
  apsyn::Tool tool("correlate", "cross-multiply the antennas of a voltage stream into visibilities");
  apsyn::CorrelateOptions options;
  declare(tool, options);
  tool.use_ranks(apsyn::Tool::RankUse::shared);
  return tool.run(argc, argv, [&] { apsyn::run(tool, options); });
}
