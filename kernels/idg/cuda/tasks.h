// SPDX-License-Identifier: GPL-3.0-or-later
// How the CUDA gridder expands w within a plan's tasks. For host code with CUDA only.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/idg/cuda/partition/tasks.cuh"
#include "kernels/idg/partition/partition.h"

namespace apsyn::idg_cuda {

/// How w is expanded within tasks: an expansion's tasks reach at most `w_unit_lambda` from the middle of a
/// bin.
struct WExpansion {
  double w_unit_lambda = 0;
  std::size_t n_terms = 1;
};
struct WExpansions {
  bool tensor = false;                 ///< expansions[0] is TensorTerms::three, expansions[1] is ::four
  bool w_kernel = false;               ///< one expansion
  std::vector<WExpansion> expansions;  ///< else by falling reach; no bins
};
/// Tensor cores where the plan's accuracy allows.
WExpansions make_w_expansions(const IdgPlan& plan, bool has_tensor_cores);
bool has_tensor_cores(int device);
/// The plan as sums on tensor cores take it. Few bins of w: their phases are relative to the middle of what n
/// is within the image, for beyond it errors hardly matter. And tasks long in w: a bin costs the same
/// whichever task it belongs to, and fewer tasks mean fewer subgrids.
IdgPlan plan_for_tensor_cores(IdgPlan plan);

/// Parameters for the device's lists of a pass.
ListPlan list_plan(const IdgPlan& plan, const WExpansions& expansions, std::size_t n_outputs,
                   const LayerRange& layers);

}  // namespace apsyn::idg_cuda
