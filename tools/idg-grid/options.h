// SPDX-License-Identifier: GPL-3.0-or-later
// The command line of idg-grid.
#pragma once

#include "libcore/cli/tool.h"
#include "tools/imaging/options.h"

namespace apsyn::idg_grid {

using namespace imaging;

void declare(Tool& tool, Options& options);

void check_options(Tool& tool, const Options& options);

}  // namespace apsyn::idg_grid
