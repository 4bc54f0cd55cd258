// SPDX-License-Identifier: GPL-3.0-or-later
// Files of solutions and reports that a run writes.
#pragma once

#include <string>
#include <vector>

#include "libcore/cli/tool.h"
#include "libcore/solutions/solutions.h"
#include "tools/calibrate/options.h"

namespace apsyn::calibrate {

/// All names that the run writes: -o, --export and --report. UsageError and FailureError as check_output().
void check_outputs(const Tool& tool, const Options& options);
/// UsageError for a suffix that no format has.
void check_formats(const Tool& tool, const Options& options);

/// -o and --export, by suffix. `conjugated`: the solutions are those of data whose UVW is r_2 - r_1; gains
/// for voltages (.csv) are then the conjugate.
void write_outputs(Tool& tool, const Options& options, const Solutions& solutions, bool conjugated);

/// Text to a file, or to standard output ("-").
void write_text(const std::string& path, const std::string& text, bool overwrite);

/// Every value conjugated: gains, delays and columns of electrons of data that are the conjugate.
Solutions conjugate(const Solutions& solutions);

}  // namespace apsyn::calibrate
