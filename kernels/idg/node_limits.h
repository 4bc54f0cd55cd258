// SPDX-License-Identifier: GPL-3.0-or-later
// NodeCounts as tables that devices take.
#pragma once

#include "kernels/idg/idg.h"
#include "kernels/idg/track_fit.h"

namespace apsyn {

/// For errors of `error`, an RMS over the image relative to the visibilities.
idg::NodeLimits node_limits(const IdgPlan& plan, double error);

}  // namespace apsyn
