// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/calibrate/outputs.h"

#include <algorithm>
#include <complex>
#include <filesystem>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/files/output.h"
#include "libcore/formats/solution_files/solution_files.h"

namespace apsyn::calibrate {
namespace {

bool is_gains_csv(const std::string& path) {
  return std::filesystem::path(path).extension() == ".csv";
}

void write_one(Tool& tool, const Options& options, const Solutions& solutions, const std::string& path) {
  SolutionWriteOptions settings;
  settings.overwrite = tool.common().overwrite || options.follow;
  settings.fill = options.fill;
  settings.n_threads = tool.common().threads;
  if (options.export_channels > 0) settings.n_chan = options.export_channels;
  if (!options.direction.empty()) {
    settings.direction = solutions.find_direction(options.direction);
    if (!settings.direction)
      throw UsageError("--direction {}: the solutions have no such direction", options.direction);
  }
  const SolutionWriteReport report = write_solutions(path, solutions, settings);
  for (const std::string& line : report.warnings) log_warning("{}: {}", path, line);
  if (report.flagged_antennas.empty()) return;
  std::string names;
  for (const std::string& name : report.flagged_antennas) names += (names.empty() ? "" : ",") + name;
  log_warning("{}: antennas without gains (nan), which whoever reads it leaves out: {}", path, names);
}

}  // namespace

void check_outputs(const Tool& tool, const Options& options) {
  const bool overwrite = tool.common().overwrite;
  if (!tool.common().output.empty()) check_output(tool.common().output, overwrite);
  for (const std::string& path : options.exports) check_output(path, overwrite);
  if (!options.report.empty()) check_output(options.report, overwrite);
}

void check_formats(const Tool& tool, const Options& options) {
  std::vector<std::string> paths = options.exports;
  if (!tool.common().output.empty()) paths.push_back(tool.common().output);
  for (const std::string& path : paths) {
    const std::string suffix = std::filesystem::path(path).extension();
    bool known = false;
    for (const char* of : {".h5", ".h5parm", ".bin", ".fits", ".fit", ".csv"}) known = known || suffix == of;
    if (!known)
      throw UsageError(
          "{}: solutions are written by suffix: .h5 (H5Parm), .csv (gains), .bin (AO) or .fits (A-terms)",
          path);
  }
}

void write_outputs(Tool& tool, const Options& options, const Solutions& solutions, const DataFacts& facts) {
  tool.stage("write");
  std::vector<std::string> paths = options.exports;
  if (!tool.common().output.empty()) paths.insert(paths.begin(), tool.common().output);
  for (const std::string& path : paths)
    if (is_gains_csv(path))
      write_one(tool, options, for_voltages(solutions, facts), path);
    else
      write_one(tool, options, solutions, path);
}

void write_text(const std::string& path, const std::string& text, bool overwrite) {
  OutputFile file(path, overwrite);
  file.write(text.data(), text.size());
  file.commit();
}

Solutions for_voltages(const Solutions& solutions, const DataFacts& facts) {
  Solutions result;
  result.source = solutions.source;
  result.antennas = solutions.antennas;
  result.directions = solutions.directions;
  result.field_centre = solutions.field_centre;
  result.basis = solutions.basis;
  result.history = solutions.history;
  for (const SolutionTable& table : solutions.tables) {
    SolutionTable& to = result.tables.emplace_back();
    to.type = table.type;
    to.term = table.term;
    to.time_mjd_s = table.time_mjd_s;
    to.interval_s = table.interval_s;
    to.freq_hz = table.freq_hz;
    to.width_hz = table.width_hz;
    to.direction = table.direction;
    if (to.width_hz.size() == 1 && to.width_hz[0] == 0 && facts.high_hz > facts.low_hz) {
      to.freq_hz[0] = facts.low_hz + (facts.high_hz - facts.low_hz) / 2;
      to.width_hz[0] = facts.high_hz - facts.low_hz;
    }
    to.values.resize_for_overwrite(table.values.shape());
    to.weight.resize_for_overwrite(table.weight.shape());
    to.flag.resize_for_overwrite(table.flag.shape());
    std::copy(table.weight.begin(), table.weight.end(), to.weight.begin());
    std::copy(table.flag.begin(), table.flag.end(), to.flag.begin());
    std::transform(table.values.begin(), table.values.end(), to.values.begin(),
                   [&](const std::complex<double>& value) {
                     if (!facts.conjugated) return value;
                     return is_dispersive(table.type) ? -value : std::conj(value);
                   });
  }
  return result;
}

}  // namespace apsyn::calibrate
