// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/transform/foreign.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/formats/ms/measurement_set.h"
#include "libcore/formats/mwa_fits/mwa_fits.h"
#include "libcore/formats/uvfits/uvfits.h"
#include "libcore/formats/uvh5/uvh5.h"
#include "libcore/streams/detect.h"
#include "libcore/system/program_memory.h"

namespace apsyn::transform {
namespace {

constexpr std::uint64_t kBlockBytes = 32u << 20;  ///< of cells that are read at once
constexpr std::size_t kMaxRows = 4096;

void refuse_selection(const Options& options) {
  const ImagingOptions& selection = options.selection;
  const bool selects = !selection.fields.empty() || !selection.field_names.empty() ||
                       !selection.spws.empty() || selection.first_interval != 0 ||
                       selection.n_intervals >= 0 || selection.n_channels != 0 ||
                       selection.first_channel != 0 || options.column_given || !options.antennas.empty() ||
                       !options.baselines.empty() || options.no_autos || options.selects_uvw() ||
                       std::isfinite(options.min_time_mjd_s) || std::isfinite(options.max_time_mjd_s);
  if (selects || options.average_time_s > 0 || options.average_channels > 1)
    throw UsageError(
        "{}: files of this format become a Measurement Set as they are: select and average it in a second "
        "run",
        options.inputs[0]);
}

void refuse_others(const Options& options) {
  if (options.centre)
    throw UsageError(
        "{}: files of this format become a Measurement Set as they are: --phase-centre goes with "
        "a second run",
        options.inputs[0]);
  if (options.inputs.size() > 1)
    throw UsageError("{}: files of this format are read one by one: join Measurement Sets of them",
                     options.inputs[1]);
}

/// The rows that memory suffices for.
std::size_t rows_at_once(const Tool& tool, std::uint64_t row_bytes, double* memory_bytes) {
  std::uint64_t rows =
      std::clamp<std::uint64_t>(kBlockBytes / std::max<std::uint64_t>(1, row_bytes), 1, kMaxRows);
  const std::uint64_t most = tool.common().max_memory_bytes;
  while (rows > 1 && cpu_program_bytes(1) + rows * row_bytes > most) rows /= 2;
  *memory_bytes = static_cast<double>(cpu_program_bytes(1) + rows * row_bytes);
  if (*memory_bytes > static_cast<double>(most))
    throw UsageError("{}", memory_shortage(most, *memory_bytes, "this needs", "allow more"));
  return rows;
}

double convert_uvh5(Tool& tool, const std::string& path) {
  Uvh5Reader reader(path);
  MsDescription set = reader.description();
  const std::size_t n_cells = set.channel_hz.size() * set.products.size();
  double memory_bytes = 0;
  const std::size_t at_once = rows_at_once(tool, n_cells * 40 + 200, &memory_bytes);
  tool.report_plan({fmt::format("UVH5: {} rows of {} channels and {} products, {} antennas, {} fields",
                                reader.n_rows(), set.channel_hz.size(), set.products.size(),
                                set.layout.antennas.size(), 1 + set.more_fields.size()),
                    fmt::format("memory: {}", format_bytes(memory_bytes))});
  if (tool.common().dry_run) return 0;
  for (const std::string& line : tool.provenance()) set.history.push_back(line);
  MeasurementSetWriter writer(tool.common().output, set, tool.common().overwrite);
  tool.stage("transform");
  Progress progress(tool, "reading", static_cast<double>(reader.n_rows()), "rows");
  Uvh5Rows rows;
  double n_rows = 0;
  while (reader.read(rows, at_once)) {
    MsWriteRows out;
    out.uvw_m = rows.uvw_m.view();
    out.baselines = &rows.baselines;
    out.data = rows.data.view();
    out.weight = rows.weight.view();
    out.row_time_mjd_s = rows.time_mjd_s;
    out.row_interval_s = out.row_exposure_s = rows.interval_s;
    out.row_field = rows.field;
    writer.write(out);
    n_rows += static_cast<double>(rows.baselines.size());
    progress.update(n_rows);
  }
  writer.commit();
  return n_rows * static_cast<double>(n_cells);
}

double convert_uvfits(Tool& tool, const std::string& path) {
  UvfitsReader reader(path, {false, 0});
  for (const std::string& table : reader.ignored_tables())
    log_warning("{}: table {} is not applied: the visibilities are taken as they are", path, table);
  std::size_t at_once = std::clamp<std::size_t>(static_cast<std::size_t>(reader.n_groups()), 1, kMaxRows);
  const double most = static_cast<double>(tool.common().max_memory_bytes);
  const auto needed = [&] {
    return static_cast<double>(cpu_program_bytes(1) + reader.memory_bytes(at_once));
  };
  while (at_once > 1 &&
         needed() > std::min(most, static_cast<double>(cpu_program_bytes(1) + 8 * kBlockBytes)))
    at_once /= 2;
  if (needed() > most)
    throw UsageError("{}",
                     memory_shortage(tool.common().max_memory_bytes, needed(), "this needs", "allow more"));
  MsDescription set = reader.description();
  tool.report_plan(
      {fmt::format("{}: {} groups of {} antennas, {} spectral windows of {} channels",
                   reader.is_fits_idi() ? "FITS-IDI" : "UVFITS", reader.n_groups(),
                   set.layout.antennas.size(), 1 + set.more_windows.size(), set.channel_hz.size()),
       fmt::format("memory: {}", format_bytes(needed()))});
  if (tool.common().dry_run) return 0;
  set.history = tool.provenance();
  MeasurementSetWriter writer(tool.common().output, set, tool.common().overwrite);
  tool.stage("transform");
  Progress progress(tool, "reading", static_cast<double>(reader.n_groups()), "groups");
  UvfitsRows rows;
  double n_vis = 0, n_groups = 0;
  while (reader.read(rows, at_once)) {
    const std::size_t n = rows.baselines.size(), n_if = rows.data.size();
    MsWriteRows out;
    out.uvw_m = View<const double, 2>(rows.uvw_m.data(), {n, 3});
    out.baselines = &rows.baselines;
    out.row_time_mjd_s = rows.time_mjd_s;
    out.row_interval_s = out.row_exposure_s = rows.exposure_s;
    out.row_field = rows.field;
    for (std::size_t i = 0; i < n_if; ++i) {
      out.window = static_cast<int>(rows.setup * n_if + i);
      const std::array shape{n, rows.data[i].extent(1), rows.data[i].extent(2)};
      out.data = View<const std::complex<float>, 3>(rows.data[i].data(), shape);
      out.weight = View<const float, 3>(rows.weight[i].data(), shape);
      writer.write(out);
      n_vis += static_cast<double>(out.data.size());
    }
    n_groups += static_cast<double>(n);
    progress.update(n_groups);
  }
  if (reader.counts().used == 0)
    throw FailureError(
        "{}: no usable data: none has a weight above 0 (ingest --from uvfits --absolute-weights ignores "
        "their signs)",
        path);
  writer.commit();
  return n_vis;
}

/// The metafits and the files of a correlator among the inputs.
struct MwaInputs {
  std::string metafits;
  std::vector<std::string> files;
};

bool are_mwa(const Options& options) {
  return !options.metafits.empty() ||
         std::any_of(options.inputs.begin(), options.inputs.end(), [](const std::string& path) {
           return is_mwa_correlator_file(path) || is_mwa_metafits(path);
         });
}

MwaInputs sort_mwa_inputs(const Options& options) {
  MwaInputs sorted{options.metafits, {}};
  for (const std::string& path : options.inputs) {
    if (is_mwa_correlator_file(path)) {
      sorted.files.push_back(path);
    } else if (!is_mwa_metafits(path)) {
      throw UsageError(
          "{}: neither a metafits nor a file of the MWA's correlators (..._gpuboxNN_MM.fits, "
          "..._chNNN_MMM.fits): they are not joined with others",
          path);
    } else if (!sorted.metafits.empty()) {
      throw UsageError("{}: a second metafits, besides {}: give one observation", path, sorted.metafits);
    } else {
      sorted.metafits = path;
    }
  }
  if (sorted.metafits.empty())
    throw UsageError("{}: a file of the MWA's correlators: give the observation's metafits, too",
                     options.inputs[0]);
  if (sorted.files.empty())
    throw UsageError("{}: the metafits alone: give the files of the correlator, too", sorted.metafits);
  return sorted;
}

double convert_mwa(Tool& tool, const Options& options) {
  const MwaInputs inputs = sort_mwa_inputs(options);
  MwaFitsOptions wanted = options.mwa;
  wanted.phase_centre = options.centre;
  MwaFitsReader reader(inputs.metafits, inputs.files, wanted);
  MsDescription set = reader.description();
  const std::size_t n_set_cells = set.channel_hz.size() * set.products.size();
  // Legacy files are read once for each block of baselines, which are unpacked each time.
  constexpr std::uint64_t kLargestBlock = std::uint64_t{4} << 30, kWriterBytesOfCell = 16;
  const std::uint64_t most = tool.common().max_memory_bytes;
  const auto needed = [&](std::size_t n_rows) {
    return cpu_program_bytes(1) + reader.memory_bytes(n_rows) + n_rows * n_set_cells * kWriterBytesOfCell;
  };
  std::size_t at_once = reader.n_baselines();
  while (at_once > 1 && needed(at_once) > std::min(most, kLargestBlock)) at_once = (at_once + 1) / 2;
  const auto memory_bytes = static_cast<double>(needed(at_once));
  if (memory_bytes > static_cast<double>(most))
    throw UsageError("{}", memory_shortage(most, memory_bytes, "this needs", "allow more"));
  tool.report_plan(
      {fmt::format("MWA correlator ({}): {} integrations of {} tiles", reader.is_mwax() ? "MWAX" : "legacy",
                   reader.n_times(), set.layout.antennas.size()),
       fmt::format("{} coarse channels in windows of {} channels: {}", reader.n_coarse_channels(),
                   set.channel_hz.size(), 1 + set.more_windows.size()),
       fmt::format("memory: {}", format_bytes(memory_bytes))});
  if (reader.n_missing() > 0)
    log_warning("{}: no data of {} of {} integrations of coarse channels: they are flagged, or left out",
                inputs.metafits, reader.n_missing(),
                reader.n_times() * static_cast<std::int64_t>(reader.n_coarse_channels()));
  if (tool.common().dry_run) return 0;
  set.history = tool.provenance();
  MeasurementSetWriter writer(tool.common().output, set, tool.common().overwrite);
  tool.stage("transform");
  Progress progress(tool, "reading", static_cast<double>(reader.n_rows()), "rows");
  MwaFitsRows rows;
  double n_rows = 0;
  while (reader.read(rows, at_once, tool.common().threads)) {
    MsWriteRows out;
    out.time_mjd_s = rows.time_mjd_s;
    out.interval_s = out.exposure_s = rows.interval_s;
    out.uvw_m = rows.uvw_m.view();
    out.baselines = &rows.baselines;
    out.data = rows.data.view();
    out.weight = rows.weight.view();
    out.window = rows.window;
    writer.write(out);
    n_rows += static_cast<double>(rows.baselines.size());
    progress.update(n_rows);
  }
  writer.commit();
  return n_rows * static_cast<double>(n_set_cells);
}

}  // namespace

bool is_foreign(const Options& options) {
  std::error_code error;
  const std::string& path = options.inputs[0];
  if (are_mwa(options)) return true;
  return path != "-" && std::filesystem::is_regular_file(path, error) &&
         (is_hdf5_file(path) || is_fits_file(path));
}

void check_mwa_options(const Options& options) {
  if (options.mwa == MwaFitsOptions{} || are_mwa(options)) return;
  throw UsageError(
      "{}: --pointing-centre, --no-*-delay, --no-digital-gains and --flag-* go with files of the MWA's "
      "correlators",
      options.inputs[0]);
}

double convert_foreign(Tool& tool, const Options& options) {
  refuse_selection(options);
  const bool mwa = are_mwa(options);
  if (!mwa) refuse_others(options);
  if (output_kind(tool, options) != OutputKind::measurement_set)
    throw UsageError("-o {}: files of this format become Measurement Sets: give -o NAME.ms",
                     tool.common().output);
  if (mwa) return convert_mwa(tool, options);
  const std::string& path = options.inputs[0];
  return is_hdf5_file(path) ? convert_uvh5(tool, path) : convert_uvfits(tool, path);
}

}  // namespace apsyn::transform
