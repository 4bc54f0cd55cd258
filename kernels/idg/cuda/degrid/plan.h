// SPDX-License-Identifier: GPL-3.0-or-later
// What a plan means for the CUDA degridder's lists. For host code with CUDA only.
#pragma once

#include "kernels/idg/cuda/degrid/lists.cuh"
#include "kernels/idg/plan/w_separation.h"

namespace apsyn::idg_degrid {

/// All but first_layer and chunk_tasks. tensor: whether the device and the setup allow tensor cores; tasks
/// take them where the plan's accuracy does.
DegridListPlan make_list_plan(const IdgPlan& plan, const WSeparation& separation, bool tensor);

}  // namespace apsyn::idg_degrid
