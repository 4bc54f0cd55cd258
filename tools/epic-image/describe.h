// SPDX-License-Identifier: GPL-3.0-or-later
// The plan in words, for --dry-run and -v.
#pragma once

#include <string>
#include <vector>

#include "tools/epic-image/setup.h"

namespace apsyn {

std::string describe_method(const EpicSetup& setup);

/// The finest that the image holds.
double fringe_rad(const EpicSetup& setup);

std::vector<std::string> describe(const EpicSetup& setup);

/// What the images will not show, though the recording may hold it.
std::vector<std::string> shortcomings(const EpicSetup& setup);

}  // namespace apsyn
