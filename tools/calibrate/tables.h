// SPDX-License-Identifier: GPL-3.0-or-later
// The results of a chain as tables of solutions and as a report.
#pragma once

#include <string>
#include <vector>

#include "libcore/sky/sky_patches.h"
#include "libcore/solutions/solutions.h"
#include "tools/calibrate/chain.h"
#include "tools/calibrate/input.h"
#include "tools/imaging/calibration/terms.h"

namespace apsyn::calibrate {

/// The tables in the order of the product, receiver first. Windows follow each other by rising frequency.
Solutions make_solutions(const ChainResult& result, const InputInfo& info,
                         const std::vector<std::string>& history, unsigned n_threads = 1);

/// The same for solutions in several directions, [direction].
Solutions make_solutions(const std::vector<ChainResult>& results, const std::vector<SkyPatch>& patches,
                         const InputInfo& info, const std::vector<std::string>& history);

/// Scales the amplitudes of each table of gains to a mean log|g| of 0 over all that is not flagged.
void normalise(Solutions& solutions);

/// A line for each term: how many solutions, why some are flagged, chi^2 before and after.
std::vector<std::string> summarise(const ChainResult& result);

/// Figures of every solution, JSON.
std::string report_text(const ChainResult& result, const InputInfo& info);
std::string report_text(const std::vector<ChainResult>& results, const std::vector<SkyPatch>& patches,
                        const InputInfo& info);

}  // namespace apsyn::calibrate
