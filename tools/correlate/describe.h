// SPDX-License-Identifier: GPL-3.0-or-later
// The plan in words, for --dry-run and -v.
#pragma once

#include <string>
#include <vector>

#include "tools/correlate/plan.h"

namespace apsyn {

std::vector<std::string> describe(const CorrelatePlan& plan);

}  // namespace apsyn
