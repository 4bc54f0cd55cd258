// SPDX-License-Identifier: GPL-3.0-or-later
// calibrate: visibilities and a model of the sky -> gains of the antennas; gains onto visibilities; solutions
// from one kind of file into another.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/cli/tool.h"
#include "libcore/files/output.h"
#include "libcore/formats/ms/corrections.h"
#include "libcore/formats/ms/lock.h"
#include "libcore/formats/solution_files/solution_files.h"
#include "libcore/imaging/blocks.h"
#include "libcore/streams/detect.h"
#include "libcore/system/device.h"
#include "libcore/system/program_memory.h"
#include "tools/calibrate/apply.h"
#include "tools/calibrate/chain.h"
#include "tools/calibrate/directions.h"
#include "tools/calibrate/input.h"
#include "tools/calibrate/model.h"
#include "tools/calibrate/options.h"
#include "tools/calibrate/outputs.h"
#include "tools/calibrate/tables.h"

using namespace apsyn;
using namespace apsyn::calibrate;

namespace {

/// Detects problems with applying before hours are spent on solving.
void look_at_output_column(const Options& options) {
  CorrectionColumns columns;
  columns.input = options.selection.column;
  columns.output = options.output_column;
  columns.weights = !options.no_weights && columns.input == "DATA";
  inspect_corrections(options.input(), columns);
}

std::vector<std::string> history_of(const Tool& tool, const InputInfo& info) {
  std::vector<std::string> history = tool.provenance();
  if (info.conjugated) history.push_back(kConjugatedData);
  return history;
}

DataFacts facts_of(const InputInfo& info) {
  DataFacts facts;
  facts.conjugated = info.conjugated;
  for (const MsSpectralWindow& window : info.windows)
    for (std::size_t chan = 0; chan < window.channel_hz.size(); ++chan) {
      const double low_hz = window.channel_hz[chan] - window.width_hz[chan] / 2,
                   high_hz = window.channel_hz[chan] + window.width_hz[chan] / 2;
      facts.low_hz = facts.high_hz == 0 ? low_hz : std::min(facts.low_hz, low_hz);
      facts.high_hz = std::max(facts.high_hz, high_hz);
    }
  return facts;
}

/// A term in several directions.
void run_directions(Tool& tool, const Options& options, const SkyInput& sky, VisibilityInput& input) {
  const std::vector<SkyPatch> patches = choose_patches(options);
  const DirectionPlan plan(tool, options, input.info(), patches.size());
  tool.report_plan(plan.describe());
  if (tool.common().dry_run) {
    tool.print(fmt::format("memory: {}", format_bytes(static_cast<double>(plan.bytes()))));
    return;
  }
  const std::vector<ChainResult> results = solve_patches(tool, options, plan, sky.setup, input, patches);
  for (std::size_t d = 0; d < patches.size(); ++d)
    for (const std::string& line : summarise(results[d])) log_info("{}: {}", patches[d].name, line);
  const Solutions solutions = make_solutions(results, patches, input.info(), history_of(tool, input.info()));
  write_outputs(tool, options, solutions, facts_of(input.info()));
  if (!options.report.empty())
    write_text(options.report, report_text(results, patches, input.info()), tool.common().overwrite);
  tool.report_rate(results[0].n_visibilities, "vis");
}

/// The solutions in the form in which they are written.
Solutions solutions_of(const Tool& tool, const Options& options, const ChainResult& result,
                       const InputInfo& info) {
  Solutions solutions = make_solutions(result, info, history_of(tool, info), tool.common().threads);
  if (options.normalise) normalise(solutions);
  return solutions;
}

/// The report of an interval: its own figures, or why the gains of a former one are held and their age.
std::string follow_report(std::size_t interval, double age_s, const std::string& why_held,
                          const std::string& figures) {
  nlohmann::json report;
  report["interval"] = interval;
  report["held"] = !why_held.empty();
  if (!why_held.empty()) report["reason"] = why_held;
  report["age_s"] = age_s < 0 ? nlohmann::json() : nlohmann::json(age_s);
  if (!figures.empty()) report["solutions"] = nlohmann::json::parse(figures);
  return report.dump(1) + "\n";
}

/// Interval by interval. An interval without usable data leaves the gains of the previous one in their files;
/// any other failure, such as one in writing, ends the run.
void run_follow(Tool& tool, const Options& options, const SkyInput* sky, VisibilityInput& input) {
  if (!input.info().is_stream)
    throw UsageError("--follow: {} is a Measurement Set: follow a visibility stream, or leave it out",
                     options.input());
  if (tool.common().dry_run)
    throw UsageError("--dry-run: a stream that is followed has no plan before it arrives");
  std::size_t n_intervals = 0, n_solved = 0;
  double solved_mjd_s = 0, n_visibilities = 0;
  std::optional<ChainResult> former;
  ChainMemory memory;
  for (; input.next_interval(); ++n_intervals) {
    const double now_mjd_s = input.info().integrations.back().time_mjd_s;
    // Opened again for each interval, whose field may differ: a stream without a tracked phase centre follows
    // the zenith.
    const std::unique_ptr<ModelSource> model = open_model(tool, options, sky, input);
    const ChainPlan plan(tool, options, input.info(), *model);
    std::string why_held, figures;
    std::optional<ChainResult> result;
    try {
      result = solve_chain(tool, options, plan, input, *model, former ? &*former : nullptr, &memory);
    } catch (const FailureError& error) {
      why_held = error.what();
      log_warning("interval {}: {}: {}", n_intervals, why_held,
                  n_solved > 0 ? "the former gains are held" : "there are no gains yet");
    }
    if (result) {
      for (const std::string& line : summarise(*result)) log_info("interval {}: {}", n_intervals, line);
      write_outputs(tool, options, solutions_of(tool, options, *result, input.info()),
                    facts_of(input.info()));
      figures = report_text(*result, input.info());
      n_visibilities += result->n_visibilities;
      solved_mjd_s = now_mjd_s;
      ++n_solved;
      former = std::move(result);
    }
    if (!options.report.empty())
      write_text(options.report,
                 follow_report(n_intervals, n_solved > 0 ? now_mjd_s - solved_mjd_s : -1, why_held, figures),
                 true);
    publish_outputs();
  }
  if (n_solved == 0) throw FailureError("{}: no usable data in {} intervals", options.input(), n_intervals);
  tool.report_rate(n_visibilities, "vis");
}

void run_solve(Tool& tool, Options& options) {
  tool.stage("open");
  check_outputs(tool, options);
  // Taken before the set is opened, because another run may be adding a column.
  std::shared_ptr<const MeasurementSetLock> lock;
  if (options.applies() && !tool.common().dry_run) lock = lock_measurement_set(options.input());
  std::unique_ptr<VisibilityInput> input = open_input(options);
  check_formats(tool, options);
  if (options.applies()) look_at_output_column(options);
  std::optional<SkyInput> sky;
  if (!options.sky.empty())
    sky = open_sky(tool, options, input->info());
  else if (options.models.empty())
    tool.device(CudaSupport::none);
  if (sky && !tool.common().dry_run) tool.start_device(sky->setup.device);
  const SkyInput* const sky_or_null = sky ? &*sky : nullptr;
  if (options.follow) return run_follow(tool, options, sky_or_null, *input);
  if (!options.directions.empty()) return run_directions(tool, options, *sky, *input);
  std::unique_ptr<ModelSource> model = open_model(tool, options, sky_or_null, *input);
  const ChainPlan plan(tool, options, input->info(), *model);
  std::vector<std::string> lines{model->describe()};
  for (const std::string& line : plan.describe()) lines.push_back(line);
  tool.report_plan(lines);
  if (tool.common().dry_run) {
    tool.print(fmt::format("memory: {}", format_bytes(static_cast<double>(plan.bytes()))));
    return;
  }
  const ChainResult result = solve_chain(tool, options, plan, *input, *model);
  for (const std::string& line : summarise(result)) log_info("{}", line);
  const Solutions solutions = solutions_of(tool, options, result, input->info());
  write_outputs(tool, options, solutions, facts_of(input->info()));
  if (!options.report.empty())
    write_text(options.report, report_text(result, input->info()), tool.common().overwrite);
  tool.report_rate(result.n_visibilities, "vis");
  if (!options.applies()) return;
  input.reset();
  model.reset();
  apply_solutions(tool, options, solutions, "what was solved");
}

void run_apply(Tool& tool, Options& options) {
  tool.stage("open");
  tool.device(CudaSupport::none);
  std::shared_ptr<const MeasurementSetLock> lock;
  if (!tool.common().dry_run) lock = lock_measurement_set(options.input());
  SolutionReadOptions settings;
  {
    const MeasurementSetReader reader(options.input(), selection_of(options, ""));
    SolutionContext& context = settings.context.emplace();
    for (const Antenna& antenna : reader.layout().antennas) context.antenna_names.push_back(antenna.name);
    context.freq_hz = merge_channels(reader.spectral_windows()).channel_hz;
    context.begin_mjd_s = reader.begin_mjd_s();
    context.end_mjd_s = reader.end_mjd_s();
  }
  const Solutions solutions = read_solutions(options.apply, settings);
  apply_solutions(tool, options, solutions, options.apply);
}

void run_convert(Tool& tool, Options& options) {
  check_outputs(tool, options);
  check_formats(tool, options);
  Solutions solutions = read_solutions(options.input());
  if (tool.common().dry_run) {
    tool.print(fmt::format("{}: {} antennas, {} tables", options.input(), solutions.antennas.size(),
                           solutions.tables.size()));
    return;
  }
  if (options.normalise) normalise(solutions);
  DataFacts facts;
  facts.conjugated = std::find(solutions.history.begin(), solutions.history.end(), kConjugatedData) !=
                     solutions.history.end();
  for (const std::string& line : tool.provenance()) solutions.history.push_back(line);
  write_outputs(tool, options, solutions, facts);
}

}  // namespace

int main(int argc, char** argv) {
  Tool tool("calibrate", "find the gains of antennas from visibilities, and correct visibilities by them");
  Options options;
  declare(tool, options);
  return tool.run(argc, argv, [&] {
    check_options(tool, options);
    keep_little_freed_memory();
    switch (options.mode) {
      case Mode::solve:
        return run_solve(tool, options);
      case Mode::apply:
        return run_apply(tool, options);
      case Mode::convert:
        return run_convert(tool, options);
    }
  });
}
