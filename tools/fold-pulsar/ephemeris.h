// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/fold/fold.h"
#include "libcore/streams/power_source.h"
#include "tools/fold-pulsar/options.h"

namespace apsyn {

/// Makes the plan follow the par file of --par: its phase at the telescope's place, the apparent period at
/// the start, and the dispersion measure, unless --dm is given. DataError for what a par file cannot have
/// here, UsageError where nobody tells where the telescope stands.
void follow_par(FoldPlan& plan, const FoldOptions& options, const PowerSource& powers);

}  // namespace apsyn
