// SPDX-License-Identifier: GPL-3.0-or-later
// FLAG of a Measurement Set: rows that the rules take, and what a strategy finds in the time series of each
// baseline.
//
// Without a strategy rows are read block by block. With one the set is read in parts of as many baselines as
// fit into memory; of each part all rows are read, the strategy runs on all threads, one baseline, window and
// sequence of times at a time, and the rows are written again. A sequence is a run of one field, or
// --chunk-size integrations of it.
#pragma once

#include <string>

#include "libcore/cli/tool.h"
#include "tools/flag/options.h"
#include "tools/flag/report.h"

namespace apsyn::flag {

/// Returns the number of visibilities that were looked at; `json` gets the report.
double flag_set(Tool& tool, const Options& options, const std::string& path, std::string& json);
/// Gives FLAG back what a file of --save has.
double undo_flags(Tool& tool, const Options& options);

}  // namespace apsyn::flag
