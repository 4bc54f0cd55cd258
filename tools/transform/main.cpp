// SPDX-License-Identifier: GPL-3.0-or-later
// transform: visibilities -> visibilities: selected, averaged, moved to another phase centre, joined.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/cli/tool.h"
#include "libcore/files/output.h"
#include "libcore/system/device.h"
#include "tools/transform/joined_sets.h"
#include "tools/transform/open_sources.h"
#include "tools/transform/options.h"
#include "tools/transform/row_sink.h"
#include "tools/transform/set_pass.h"
#include "tools/transform/stream_pass.h"

using namespace apsyn;
using namespace apsyn::transform;

namespace {

std::unique_ptr<RowSink> make_sink(const Tool& tool, const Options& options, const JoinedSets& sets,
                                   const SetPlan& plan, MsDescription description, const UvwCheck& uvw) {
  const CommonOptions& common = tool.common();
  if (output_kind(tool, options) == OutputKind::measurement_set)
    return make_set_sink(common.output, description, common.overwrite, plan.n_rows, sets.paths_of_sets(),
                         options.selection.column);
  const OutputKind kind = output_kind(tool, options);
  if (kind == OutputKind::uvh5)
    return make_uvh5_sink(common.output, description, common.overwrite, plan.n_rows, uvw.conjugated);
  if (kind == OutputKind::uvfits)
    return make_uvfits_sink(common.output, description, common.overwrite, plan.n_rows, uvw.conjugated);
  if (options.bda_loss > 0)
    throw UsageError("--bda: baselines with intervals of their own make no stream: write a Measurement Set");
  if (!uvw.of_antennas())
    throw UsageError(
        "{}: UVW differs by {:.2g} of its length from what the antennas say: a stream keeps no UVW: write a "
        "Measurement Set",
        options.inputs[0], uvw.misfit);
  StreamShape shape;
  shape.begin_mjd_s = sets.begin_mjd_s();
  shape.integration_s = plan.bins && options.average_time_s > 0 ? options.average_time_s : sets.interval_s();
  shape.antennas = wanted_antennas(options, sets.layout());
  shape.autos = sets.has_autos();
  shape.conjugate = uvw.conjugated;
  return make_stream_sink(common.output, description, common.overwrite, shape);
}

double transform_rows(Tool& tool, const Options& options, std::vector<std::unique_ptr<RowSource>> sources) {
  JoinedSets sets(options, std::move(sources));
  tool.stage("plan");
  UvwCheck uvw;
  const bool needs_check = options.centre || output_kind(tool, options) != OutputKind::measurement_set;
  if (needs_check) uvw = sets.check_uvw();
  if (options.centre && !uvw.of_antennas())
    log_warning(
        "{}: UVW differs by {:.2g} of its length from what the antennas say: it is turned to the new centre "
        "as "
        "it is",
        options.inputs[0], uvw.misfit);
  const SetPlan plan = plan_sets(tool, options, sets, uvw);
  std::vector<std::string> lines;
  for (const JoinedSet& set : sets.sets())
    for (std::string& line : set.source->plan()) lines.push_back(std::move(line));
  lines.push_back(
      fmt::format("{} rows of {} channels and {} products, {} spectral windows, {} antennas, {} fields",
                  sets.n_rows(), sets.n_channels(), sets.products().size(), sets.windows().size(),
                  sets.layout().antennas.size(), sets.fields().size()));
  lines.push_back(fmt::format("become {} rows of {} channels, intervals up to {}", plan.n_rows,
                              plan.n_channels, format_duration(plan.longest_s)));
  lines.push_back(
      needs_check ? fmt::format("UVW is {}, within {:.1e} of what the antennas say",
                                uvw.conjugated ? "r_2 - r_1" : "r_1 - r_2", uvw.misfit)
                  : fmt::format("{} of visibilities", format_bytes(static_cast<double>(sets.value_bytes()))));
  lines.push_back(fmt::format("memory: {}", format_bytes(static_cast<double>(plan.memory_bytes))));
  tool.report_plan(lines);
  if (tool.common().dry_run) return 0;
  MsDescription description = sets.describe(options);
  for (const std::string& line : tool.provenance()) description.history.push_back(line);
  const std::unique_ptr<RowSink> sink = make_sink(tool, options, sets, plan, std::move(description), uvw);
  tool.stage("transform");
  const double n_vis = run_sets(tool, options, sets, plan, uvw, *sink);
  tool.stage("commit");
  sink->commit();
  return n_vis;
}

void run(Tool& tool, Options& options) {
  check_options(tool, options);
  tool.device(CudaSupport::none);
  output_kind(tool, options);
  if (!tool.common().dry_run) check_output(tool.common().output, tool.common().overwrite);
  tool.stage("open");
  std::vector<std::unique_ptr<RowSource>> sources = open_sources(options);
  const double n_vis = sources.empty() ? run_stream(tool, options, options.inputs[0])
                                       : transform_rows(tool, options, std::move(sources));
  tool.report_rate(n_vis, "vis");
}

}  // namespace

int main(int argc, char** argv) {
  Tool tool("transform", "select, average, move and join visibilities");
  Options options;
  declare(tool, options);
  return tool.run(argc, argv, [&] { run(tool, options); });
}
