// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tools/search-transients/options.h"

namespace apsyn {

/// Images in time -> table, cut-outs and figure of dispersed pulses.
void search_images(Tool& tool, const SearchOptions& options);

}  // namespace apsyn
