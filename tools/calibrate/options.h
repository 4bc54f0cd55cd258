// SPDX-License-Identifier: GPL-3.0-or-later
// The command line of calibrate.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "libcore/cli/imaging_options.h"
#include "libcore/cli/tool.h"
#include "libcore/formats/ms/measurement_set.h"
#include "libcore/solutions/evaluator.h"
#include "tools/imaging/calibration/terms.h"

namespace apsyn::calibrate {

/// What a run of the tool does.
enum class Mode { solve, apply, convert };

struct Options {
  std::vector<std::string> inputs;
  ImagingOptions selection;  ///< fields, windows, channels, --column, --minuv-l, --maxuv-l
  std::string sky, model_column, directions;
  std::vector<std::string> models;

  std::vector<std::string> solve;
  std::vector<TermOptions> terms;
  std::string interval, channels_per_solution;
  std::string reference_antenna = "auto";
  double robust_nu = 0;
  double min_snr = 3, tolerance = 1e-6;
  std::size_t min_baselines = 4, max_iterations = 200;
  bool normalise = false;
  bool follow = false;
  double follow_s = 0;  ///< interval of a stream that is followed

  std::vector<std::string> exports;
  std::size_t export_channels = 0;
  std::string report;
  bool fill = false;

  std::string apply;
  std::string output_column = "CORRECTED_DATA", direction, subtract;
  bool output_column_given = false;
  Interpolation interpolation = Interpolation::nearest;
  bool no_weights = false, corrupt = false;

  Mode mode = Mode::solve;
  const std::string& input() const { return inputs.front(); }
  /// With --solve, --output-column applies the solutions immediately.
  bool applies() const { return mode == Mode::apply || (mode == Mode::solve && output_column_given); }
};

void declare(Tool& tool, Options& options);

/// Determines the mode and the terms. UsageError for options that contradict each other.
void check_options(Tool& tool, Options& options);

/// "gain:interval=10s,channels=all" with the defaults of --interval, --channels-per-solution and --robust.
TermOptions parse_term(const std::string& text, const Options& defaults);

MsSelection selection_of(const Options& options, const std::string& column);

}  // namespace apsyn::calibrate
