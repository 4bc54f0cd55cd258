// SPDX-License-Identifier: GPL-3.0-or-later
// Values in the place of flagged solutions, for what cannot leave data out.
#pragma once

#include "libcore/solutions/solutions.h"

namespace apsyn {

/// Flagged solutions have the value of the nearest good one of their antenna, direction and polarisation: in
/// time, or else in frequency; without any, a gain of 1. All weights are above 0, and no reasons are left.
SolutionTable fill_flagged(const SolutionTable& table);

}  // namespace apsyn
