// SPDX-License-Identifier: GPL-3.0-or-later
// correlate: voltage stream -> visibilities, in a Measurement Set or a visibility stream.
#include <optional>
#include <utility>
#include <vector>

#include "libcore/files/output.h"
#include "libcore/imaging/visibility_sink.h"
#include "libcore/voltage/array_delays.h"
#include "tools/correlate/algorithm.h"
#include "tools/correlate/describe.h"
#include "tools/correlate/options.h"
#include "tools/correlate/plan.h"
#include "tools/correlate/sample_report.h"
#include "tools/correlate/stream.h"
#include "tools/correlate/stream_parts.h"

namespace apsyn {
namespace {

void run(Tool& tool, CorrelateOptions& options) {
  const Device device = tool.device(CudaSupport::available);
  const std::string output = tool.common().output.empty() ? "-" : tool.common().output;
  if (!tool.common().dry_run) check_output(output, tool.common().overwrite);
  bool shared = can_be_shared(options.inputs.at(0));
  if (!shared && !tool.works_alone()) return;
  tool.stage("open");
  options.voltage.margin = [&](const VoltageHeader& header, const ArrayLayout& layout) {
    return range_margin(header, layout, options.n_fine, options.n_taps);
  };
  OpenedVoltages voltages = open_voltages(options.inputs.at(0), options.voltage);
  CorrelatePlan plan = make_plan(tool, options, voltages, device);
  plan.mean.gains = gains_of(options, plan, voltages);
  DelayTracker delays(plan.header.layout, plan.header.start, plan.target);
  choose_arithmetic(options.algorithm, delays.nothing_to_do(), plan);
  tool.report_plan(describe(plan));
  if (tool.common().dry_run) return;

  if (plan.mean.quantisers.recorder)
    log_info("--van-vleck: {}", plan.mean.quantisers.of_samples
                                    ? "exact, from each pair's levels"
                                    : "approximate, by each input's gain: spectra do not know the lags");
  if (shared && plan.n_samples < 0) {  // its length is unknown
    if (!tool.works_alone()) return;
    shared = false;
  }
  const Ranks ranks = shared ? tool.ranks() : Ranks{};
  const auto parts = parts_of(plan, options.voltage, ranks.size, tool.common().max_memory_bytes / 8);
  const auto sink =
      ranks.root() ? make_visibility_sink(output, plan.visibilities, tool.common().overwrite) : nullptr;

  tool.stage("correlate");
  StreamCorrelator correlator(tool, options, device, plan, delays);
  bool any_data = false, dropped = false;
  const auto write = [&](const FxResult& result) {
    if (options.drop_incomplete && result.n_spectra < plan.mean.n_spectra) {
      log_info("the last integration has {} of {} and is left out (--drop-incomplete)",
               format_duration(static_cast<double>(result.n_spectra) * plan.spectrum_s),
               format_duration(static_cast<double>(plan.mean.n_spectra) * plan.spectrum_s));
      dropped = true;
      return;
    }
    any_data |= result.any_data;
    sink->write(result.record, static_cast<double>(result.n_spectra) * plan.spectrum_s);
  };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const int rank = static_cast<int>(i % static_cast<std::size_t>(ranks.size));
    if (rank == ranks.rank) {
      std::optional<OpenedVoltages> own;
      if (parts.size() > 1) own.emplace(open_voltages(options.inputs.at(0), parts[i].of(options.voltage)));
      std::vector<FxResult> results;  // of another process than the first
      correlator.correlate(parts[i], own ? *own : voltages, [&](FxResult& result) {
        if (ranks.root())
          write(result);
        else
          results.push_back(std::exchange(result, {}));
      });
      if (!ranks.root()) send_results(results);
    } else if (ranks.root()) {
      receive_results(rank, plan.visibilities, [&](const FxResult& result) {
        correlator.note(result);
        write(result);
      });
    }
  }
  auto& [data_s, clipped_s, counts] = correlator.totals();
  add_to_first(ranks, counts, clipped_s);
  if (!ranks.root()) return;
  RealtimeMeter& realtime = correlator.realtime();
  const double work_s = realtime.work_s();
  if (options.realtime.report || options.realtime.require) realtime.report(data_s, true);
  tool.stage("close");
  const std::vector<std::string> sample_lines = report_samples(counts, plan.header);
  if (!any_data)
    throw FailureError("{}: no usable data: every sample is missing or flagged, or there is less than one {}",
                       voltages.reader.name(), dropped ? "integration" : "spectrum");
  report_clipped(data_s > 0 ? clipped_s / data_s : 0, plan.f.requantise.n_bit, plan.on_gpu);
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
  return tool.run(argc, argv, [&] { apsyn::run(tool, options); });
}
