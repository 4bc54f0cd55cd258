// SPDX-License-Identifier: GPL-3.0-or-later
// NodeCounts as tables that devices take.
#pragma once

#include "kernels/idg/idg.h"
#include "kernels/idg/tracks/track_fit.h"

namespace apsyn {

/// What nodes of tracks may add to errors on a GPU; 0: there are none, in double precision or with a kernel
/// in w, which is no phase.
double node_error(const IdgPlan& plan);
/// For errors of `error`, an RMS over the image relative to the visibilities.
idg::NodeLimits node_limits(const IdgPlan& plan, double error);

}  // namespace apsyn
