// SPDX-License-Identifier: GPL-3.0-or-later
// Options of the Measurement Set mode of clean, and which mode the inputs ask for.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "libcore/cli/tool.h"
#include "tools/clean/columns.h"
#include "tools/imaging/calibration/terms.h"
#include "tools/imaging/options.h"

namespace apsyn::clean {

/// Read by check_visibilities from the command line, for nothing but Measurement Sets and streams.
struct VisibilityOptions {
  imaging::Options imager;
  std::size_t max_cycles = 20;  ///< --nmiter
  ColumnOptions columns;
  std::vector<calibrate::TermOptions> calibrate;  ///< --calibrate; empty: the data are as they are
  std::string calibrate_solutions;                ///< --calibrate-solutions; empty: not written
  std::vector<CLI::Option*> own;                  ///< of this mode alone
};

void declare_visibilities(Tool& tool, VisibilityOptions& options, std::vector<std::string>& inputs);

/// Whether the inputs are Measurement Sets or a visibility stream, rather than images.
bool are_visibilities(const std::vector<std::string>& inputs, const VisibilityOptions& options);

/// Groups that are cleaned together are weighed together, as WSClean does.
void choose_weighting(VisibilityOptions& options, bool joins_channels);

/// UsageError for what gains cannot be found with.
void check_calibration(const VisibilityOptions& options);

void check_visibilities(const Tool& tool, const VisibilityOptions& options);

/// Images have no such options.
void refuse_visibility_options(const VisibilityOptions& options);

}  // namespace apsyn::clean
