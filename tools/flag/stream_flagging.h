// SPDX-License-Identifier: GPL-3.0-or-later
// A visibility stream whose flagged data lose their weights, in parts of as many integrations as a strategy
// sees at once.
#pragma once

#include <string>

#include "libcore/cli/tool.h"
#include "tools/flag/options.h"

namespace apsyn::flag {

double flag_stream(Tool& tool, const Options& options, const std::string& path, std::string& json);

}  // namespace apsyn::flag
