// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/beamform/beamform.h"

namespace apsyn {

/// How a plan is cut into pieces for threads: a few beams of a few output channels.
struct WorkItems {
  std::size_t n_chan = 1, n_beam = 1, n_beam_group = 1;
};

WorkItems work_items(const BeamformPlan& plan);
/// std::logic_error.
void check_plan(const BeamformPlan& plan);

}  // namespace apsyn
