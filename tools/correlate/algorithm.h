// SPDX-License-Identifier: GPL-3.0-or-later
// --algorithm: which X stage, and what it means for the F stage and the means.
#pragma once

#include <string>

#include "tools/correlate/plan.h"

namespace apsyn {

/// Settles what depends on whether anything is to be aligned.
void choose_arithmetic(const std::string& algorithm, bool nothing_to_align, CorrelatePlan& plan);

}  // namespace apsyn
