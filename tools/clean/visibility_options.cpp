// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/clean/visibility_options.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>

#include "libcore/base/error.h"
#include "libcore/cli/imaging_options.h"
#include "libcore/streams/detect.h"
#include "tools/imaging/calibration/self_calibration.h"

namespace apsyn::clean {

void declare_visibilities(Tool& tool, VisibilityOptions& options, std::vector<std::string>& inputs) {
  CLI::App& app = tool.app();
  const auto others = app.get_options();
  add_imaging_options(tool, options.imager.imaging, inputs);
  tool.heading(headings::kWeighting);
  app.add_flag("--no-mf-weighting", options.imager.imaging.weigh_groups_apart,
               "with --join-channels: weights of each group by itself, not of the whole band")
      ->excludes("--mf-weighting");
  tool.heading("Deconvolution");
  app.add_option("--nmiter", options.max_cycles, "major cycles at most (default 20)")
      ->type_name("N")
      ->check(CLI::Range(1, 100000));
  tool.heading("Self-calibration");
  auto* calibrate = app.add_option_function<std::string>(
      "--calibrate", [&](const std::string& text) { options.calibrate = calibrate::parse_entries(text); },
      "find the antennas' gains against the model: one term and interval for each of the first major cycles, "
      "for example phase:30s,phase:10s,gain:60s");
  calibrate->type_name("LIST");
  app.add_option("--calibrate-solutions", options.calibrate_solutions,
                 "write the last gains there (H5Parm), for calibrate --apply")
      ->type_name("FILE")
      ->needs(calibrate);
  tool.heading(headings::kInputOutput);
  auto* update = app.add_flag("--update-model", options.columns.update_model,
                              "predict the final model into a column of the sets");
  app.add_option("--model-column", options.columns.model_column, "that column (default MODEL_DATA)")
      ->type_name("NAME")
      ->needs(update);
  app.add_option("--residual-column", options.columns.residual_column,
                 "write the data less the final model into this column of the sets")
      ->type_name("NAME");
  for (CLI::Option* option : app.get_options())
    if (std::find(others.begin(), others.end(), option) == others.end()) options.own.push_back(option);
}

bool are_visibilities(const std::vector<std::string>& inputs, const VisibilityOptions& options) {
  const std::string& input = inputs[0];
  if (input == "-") {
    // The other image may be a pipe: only --size tells.
    if (inputs.size() > 1 || options.imager.imaging.n_x == 0) return false;
  } else if (!std::filesystem::exists(input)) {
    return input.ends_with(".ms") || input.ends_with(".MS");
  } else if (std::filesystem::is_directory(input)) {
    return std::filesystem::exists(std::filesystem::path(input) / "table.dat");
  }
  try {
    return detect_input(input) == InputKind::visibility;
  } catch (const DataError&) {
    return false;  // reading it as an image says what is wrong
  }
}

void choose_weighting(VisibilityOptions& options, bool joins_channels) {
  ImagingOptions& imaging = options.imager.imaging;
  if (imaging.weigh_groups_apart && !joins_channels)
    throw UsageError("--no-mf-weighting: without --join-channels each group has its own weights anyway");
  if (joins_channels && !imaging.weigh_groups_apart) imaging.weigh_groups_together = true;
}

void check_calibration(const VisibilityOptions& options) {
  if (options.calibrate.empty()) return;
  const std::vector<std::string>& inputs = options.imager.inputs;
  for (const std::string& input : inputs)
    if (!std::filesystem::is_directory(input))
      throw UsageError("--calibrate: {} is no Measurement Set: make a set of it with transform", input);
  if (options.imager.imaging.intervals_out > 1)
    throw UsageError(
        "--intervals-out: with --calibrate each interval would have a model of its own: clean the whole with "
        "--calibrate-solutions, apply these with calibrate --apply, and image the intervals of "
        "CORRECTED_DATA");
  if (!options.columns.residual_column.empty())
    throw UsageError(
        "--residual-column: with --calibrate the set's data are not those that are imaged: apply the gains "
        "of "
        "--calibrate-solutions with calibrate --apply, and subtract the model with idg-degrid --subtract");
  if (options.calibrate.size() > options.max_cycles)
    throw UsageError("--nmiter {}: --calibrate has {} entries, one for each major cycle: allow at least {}",
                     options.max_cycles, options.calibrate.size(), options.calibrate.size());
  const std::string& path = options.calibrate_solutions;
  if (!path.empty() && !path.ends_with(".h5") && !path.ends_with(".h5parm"))
    throw UsageError("--calibrate-solutions {}: gains are written as an H5Parm: end the name in .h5", path);
}

void check_visibilities(const Tool& tool, const VisibilityOptions& options) {
  const ImagingOptions& imaging = options.imager.imaging;
  if (imaging.n_x == 0 || imaging.n_y == 0) throw UsageError("--size is missing: for example --size 1024");
  if (!(imaging.cell_rad > 0))
    throw UsageError("--scale is missing or not positive: for example --scale 10asec");
  const std::string& output = tool.common().output;
  if (output.empty() && !tool.common().dry_run)
    throw UsageError("-o NAME is missing: it becomes NAME-image.fits and so on");
  if (output == "-") throw UsageError("-o -: these are several images: give a name");
}

void refuse_visibility_options(const VisibilityOptions& options) {
  for (const CLI::Option* option : options.own)
    if (option->count() > 0)
      throw UsageError("{}: goes with Measurement Sets, not with images", option->get_name());
}

}  // namespace apsyn::clean
