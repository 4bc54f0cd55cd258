// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/ingest/uvfits.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/cli/tool.h"
#include "libcore/files/output.h"
#include "libcore/formats/ms/measurement_set.h"
#include "libcore/system/device.h"
#include "libcore/system/program_memory.h"
#include "libcore/visibility/visibility.h"

namespace apsyn {
namespace {

void write_rows(MeasurementSetWriter& writer, const FileRows& rows, const FileVisibilities& cells) {
  MsWriteRows out;
  out.uvw_m = rows.uvw_m.view();
  out.baselines = &rows.baselines;
  out.row_time_mjd_s = rows.time_mjd_s;
  out.row_interval_s = out.row_exposure_s = rows.interval_s;
  out.row_field = rows.field;
  for (std::size_t i = 0; i < rows.n_windows; ++i) {
    out.window = static_cast<int>(rows.first_window + i);
    out.data = cells.data[i].view();
    out.weight = cells.weight[i].view();
    writer.write(out);
  }
}

}  // namespace

void print_plan(Tool& tool, const UvfitsReader& reader) {
  const MsDescription& set = reader.description();
  std::vector<std::string> products;
  for (Product product : set.products) products.push_back(product_name(product));
  tool.print(fmt::format("{} groups of {} antennas ({}), {}", reader.n_groups(), set.layout.antennas.size(),
                         set.telescope, fmt::join(products, " ")));
  tool.print(fmt::format("{} spectral windows of {} channels of {}, the first at {}",
                         1 + set.more_windows.size(), set.channel_hz.size(),
                         format_frequency(set.channel_width_hz), format_frequency(set.channel_hz[0])));
  tool.print(fmt::format("{} at {} {}{}", set.source, format_right_ascension(set.phase_centre.ra_rad, 2),
                         format_declination(set.phase_centre.dec_rad, 1),
                         set.more_fields.empty() ? "" : fmt::format(" and {} more", set.more_fields.size())));
}

void run_uvfits(Tool& tool, const IngestOptions& o) {
  constexpr std::size_t kMaxRows = 4096;
  constexpr double kEnoughBytes = 256u << 20;
  const CommonOptions& common = tool.common();
  if (o.request.inputs.size() != 1 || o.request.inputs[0] == "-")
    throw UsageError("--from uvfits: give one file: its tables stand behind its visibilities");
  if (!common.dry_run && (common.output.empty() || common.output == "-"))
    throw UsageError("--output: missing: a Measurement Set is a folder: give -o NAME.ms");
  if (!common.dry_run) check_output(common.output, common.overwrite);
  tool.device(CudaSupport::none);
  tool.stage("open");
  UvfitsReader reader(
      o.request.inputs[0],
      {o.absolute_weights, std::isnan(o.request.facts.sample_s) ? 0 : o.request.facts.sample_s});
  for (const std::string& line : reader.warnings()) log_warning("{}", line);
  std::size_t n_rows = std::clamp<std::size_t>(static_cast<std::size_t>(reader.n_groups()), 1, kMaxRows);
  const auto most = double(common.max_memory_bytes);
  const double row_bytes =
      12.0 * double(reader.n_rows() / reader.n_groups()) *
      double(reader.description().channel_hz.size() * reader.description().products.size());
  const auto needed = [&] {
    return kIngestBytes + double(reader.memory_bytes(n_rows, 1)) + double(n_rows) * row_bytes;
  };
  while (n_rows > 1 && needed() > std::min(most, kEnoughBytes)) n_rows /= 2;
  if (needed() > most)
    throw UsageError("{}", memory_shortage(common.max_memory_bytes, needed(), "this needs", "allow more"));
  if (common.dry_run) {
    print_plan(tool, reader);
    return tool.print(fmt::format("memory: {}", format_bytes(needed())));
  }
  MsDescription description = reader.description();
  description.history = tool.provenance();
  MeasurementSetWriter writer(common.output, description, common.overwrite);
  tool.stage("ingest");
  Progress progress(tool, "reading", static_cast<double>(reader.n_groups()), "groups");
  FileRows rows;
  FileVisibilities cells;
  double n_done = 0;
  while (reader.read(rows, cells, n_rows)) {
    write_rows(writer, rows, cells);
    n_done += static_cast<double>(rows.baselines.size());
    progress.update(n_done);
  }
  const UvfitsCounts counts = reader.counts();
  const std::string line = fmt::format(
      "{}: {} visibilities used, {} flagged by their weights, {} by a table, {} that are no numbers",
      o.request.inputs[0], counts.used, counts.not_positive, counts.by_table, counts.not_finite);
  if (counts.used == 0)
    throw FailureError("{}: no usable data{}", line,
                       counts.not_positive > 0 ? ": --absolute-weights ignores the weights' signs" : "");
  log_info("{}", line);
  writer.commit();
  tool.report_rate(n_done, "groups");
}

}  // namespace apsyn
