// SPDX-License-Identifier: GPL-3.0-or-later
#ifdef APSYN_CUDA
#include "kernels/idg/cuda_tasks.h"

#include <numbers>

#include "kernels/idg/grid_tensor.cuh"
#include "kernels/idg/plan_cost.h"
#include "kernels/idg/w_terms.h"

namespace apsyn::idg_cuda {
Ways make_ways(const IdgPlan& plan, bool has_tensor_cores) {
  Ways ways;
  if (plan.w_handling == WHandling::kernel) {
    ways.w_kernel = true;
    ways.ways.push_back({1.0, plan.n_terms});
    return ways;
  }
  const double turns = 2 * std::numbers::pi * plan.n_half_range, most_half_w = plan.most_task_half_w_lambda;
  ways.tensor = has_tensor_cores && is_fast_on_gpu(plan) &&
                turns * most_half_w <= most_phi(TensorTerms::four) * (kMostBins - 1);
  if (ways.tensor) {
    for (TensorTerms terms : {TensorTerms::three, TensorTerms::four})
      ways.ways.push_back({turns > 0 ? most_phi(terms) / turns : 1.0, 1});
    return ways;
  }
  for (int halvings = 0; halvings < kMostWays; ++halvings) {
    const double unit = most_half_w / (1 << halvings);
    const std::size_t n_terms = chebyshev_terms(turns * unit, plan.settings.accuracy / 8);
    if (halvings == 0 || n_terms < ways.ways.back().n_terms) ways.ways.push_back({unit, n_terms});
  }
  return ways;
}

ListPlan list_plan(const IdgPlan& plan, const Ways& ways, std::size_t n_outputs, const LayerRange& layers) {
  ListPlan list{};
  list.tensor = ways.tensor;
  list.w_kernel = ways.w_kernel;
  list.n_ways = static_cast<int>(ways.ways.size());
  for (std::size_t i = 0; i < ways.ways.size(); ++i) list.w_unit_lambda[i] = ways.ways[i].w_unit_lambda;
  list.first_layer_lambda = plan.first_layer_lambda;
  list.layer_step_lambda = plan.layer_step_lambda;
  list.side = static_cast<int>(plan.settings.subgrid);
  list.n_u = static_cast<int>(plan.n_u);
  list.n_v = static_cast<int>(plan.n_v);
  list.n_outputs = static_cast<int>(n_outputs);
  list.first_layer = static_cast<int>(layers.first);
  list.n_layers = static_cast<int>(layers.n);
  return list;
}

}  // namespace apsyn::idg_cuda
#endif
