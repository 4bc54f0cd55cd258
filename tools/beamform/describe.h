// SPDX-License-Identifier: GPL-3.0-or-later
// The plan in words, for --dry-run and -v.
#pragma once

#include <string>
#include <vector>

#include "libcore/array/beam_table.h"
#include "tools/beamform/setup.h"

namespace apsyn {

std::string describe(const BeamDirection& beam);

std::vector<std::string> describe(const BeamformSetup& setup);

}  // namespace apsyn
