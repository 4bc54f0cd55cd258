// SPDX-License-Identifier: GPL-3.0-or-later
// Files of visibilities in other formats, which become Measurement Sets as they are.
#pragma once

#include <string>

#include "libcore/cli/tool.h"
#include "tools/transform/options.h"

namespace apsyn::transform {

/// UVH5 and UVFITS.
bool is_foreign(const std::string& path);

/// Writes the set. UsageError for options that change something: a set can have them in a second run. Returns
/// the number of visibilities.
double convert_foreign(Tool& tool, const Options& options);

}  // namespace apsyn::transform
