// SPDX-License-Identifier: GPL-3.0-or-later
// Files of visibilities in other formats, which become Measurement Sets as they are.
#pragma once

#include <string>

#include "libcore/cli/tool.h"
#include "tools/transform/options.h"

namespace apsyn::transform {

/// UVH5, UVFITS, FITS-IDI, and files of the MWA's correlators.
bool is_foreign(const Options& options);

/// UsageError for options of such a correlator where the inputs are none.
void check_mwa_options(const Options& options);

/// Writes the set. UsageError for options that change something: a set can have them in a second run. Returns
/// the number of visibilities.
double convert_foreign(Tool& tool, const Options& options);

}  // namespace apsyn::transform
