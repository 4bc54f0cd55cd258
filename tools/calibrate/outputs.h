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
/// UsageError for a suffix that belongs to no format.
void check_formats(const Tool& tool, const Options& options);

/// A line in the history of solutions found from conjugated data, by which they are recognised.
inline constexpr char kConjugatedData[] =
    "of data with UVW = r_2 - r_1: gains for voltages are the conjugate";

/// Facts about the calibrated data that gains for voltages (.csv) need.
struct DataFacts {
  bool conjugated = false;         ///< UVW is r_2 - r_1: the gains for voltages are the conjugate
  double low_hz = 0, high_hz = 0;  ///< edges of the band; equal: not known
};

/// -o and --export, by suffix.
void write_outputs(Tool& tool, const Options& options, const Solutions& solutions, const DataFacts& facts);

/// Text to a file, or to standard output ("-").
void write_text(const std::string& path, const std::string& text, bool overwrite);

/// Converts solutions to gains for voltages: conjugated if the data are, and limited to the band of the data
/// if a solution holds for all frequencies.
Solutions for_voltages(const Solutions& solutions, const DataFacts& facts);

}  // namespace apsyn::calibrate
