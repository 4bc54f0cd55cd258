// SPDX-License-Identifier: GPL-3.0-or-later
// Applies solutions to visibilities, V = J_p^-1 V J_q^-H, and to their weights and flags.
#pragma once

#include <cstdint>
#include <string>

#include "libcore/cli/tool.h"
#include "libcore/solutions/solutions.h"
#include "tools/calibrate/options.h"

namespace apsyn::calibrate {

/// Writes options.output_column of the set. `source` names the solutions in messages. Throws before anything
/// is changed if something is wrong. With --dry-run it only reports what would be done.
void apply_solutions(Tool& tool, const Options& options, const Solutions& solutions,
                     const std::string& source);

/// Memory that applying takes in addition to the program.
std::uint64_t apply_bytes(const Tool& tool, std::size_t n_antennas, std::size_t n_channels);

}  // namespace apsyn::calibrate
