// SPDX-License-Identifier: GPL-3.0-or-later
// Solutions onto visibilities: V = J_p^-1 V J_q^-H, weights and flags.
#pragma once

#include <cstdint>
#include <string>

#include "libcore/cli/tool.h"
#include "libcore/solutions/solutions.h"
#include "tools/calibrate/options.h"

namespace apsyn::calibrate {

/// Writes options.output_column of the set. `source` names the solutions in messages. What is wrong shows
/// before anything is changed. With --dry-run only says what would be done.
void apply_solutions(Tool& tool, const Options& options, const Solutions& solutions,
                     const std::string& source);

/// Bytes that applying takes beside the program.
std::uint64_t apply_bytes(const Tool& tool, std::size_t n_antennas, std::size_t n_channels);

}  // namespace apsyn::calibrate
