// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cuda/tasks.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/idg/cuda/grid/tensor/task.cuh"
#include "kernels/idg/plan/cost.h"
#include "kernels/idg/plan/w_terms.h"

namespace apsyn::idg_cuda {
namespace {

/// w phase of a task on tensor cores, from its middle to its end: twenty bins of four terms.
constexpr double kMaxTensorTaskPhase = 4;
static_assert(kMaxTensorTaskPhase <= max_phi(TensorTerms::four) * kMaxBins);

/// Bins of w are made for the range of n within the padded field divided by this, or within the image if that
/// is larger.
constexpr double kMaxPadding = 1.5;

}  // namespace

WExpansions make_w_expansions(const IdgPlan& plan, bool has_tensor_cores) {
  WExpansions expansions;
  if (plan.w_handling == WHandling::kernel) {
    expansions.w_kernel = true;
    expansions.expansions.push_back({1.0, plan.n_terms});
    return expansions;
  }
  const double turns = 2 * std::numbers::pi * plan.n_half_range, max_half_w = plan.max_task_half_w_lambda;
  expansions.tensor = has_tensor_cores && is_fast_on_gpu(plan) &&
                      turns * max_half_w <= max_phi(TensorTerms::four) * (kMaxBins - 1);
  if (expansions.tensor) {
    for (TensorTerms terms : {TensorTerms::three, TensorTerms::four})
      expansions.expansions.push_back({turns > 0 ? max_phi(terms) / turns : 1.0, 1});
    return expansions;
  }
  for (int halvings = 0; halvings < kMaxExpansions; ++halvings) {
    const double unit = max_half_w / (1 << halvings);
    const std::size_t n_terms = chebyshev_terms(turns * unit, plan.settings.accuracy / 8);
    if (halvings == 0 || n_terms < expansions.expansions.back().n_terms)
      expansions.expansions.push_back({unit, n_terms});
  }
  return expansions;
}

bool has_tensor_cores(int device) {
  cudaDeviceProp properties{};
  cuda_check(cudaGetDeviceProperties(&properties, device), "asking for the device");
  return properties.major == 9 && properties.minor == 0;
}

IdgPlan plan_for_tensor_cores(IdgPlan plan) {
  // Small images have much padding, which must not be left out by itself.
  auto half_width = [&](std::size_t n_pixels, std::size_t n_cells) {
    return plan.image.cell_rad *
           std::max(static_cast<double>(n_pixels / 2), static_cast<double>(n_cells) / 2 / kMaxPadding);
  };
  const double l = half_width(plan.image.n_x, plan.n_u), m = half_width(plan.image.n_y, plan.n_v),
               least = std::sqrt(std::max(0.0, 1 - l * l - m * m));
  plan.n_middle = (1 + least) / 2;
  plan.n_half_range = (1 - least) / 2;
  const double turns = 2 * std::numbers::pi * plan.n_half_range;
  if (turns > 0)
    plan.max_task_half_w_lambda =
        std::max(plan.max_task_half_w_lambda, std::min(plan.half_w_lambda, kMaxTensorTaskPhase / turns));
  return plan;
}

ListPlan list_plan(const IdgPlan& plan, const WExpansions& expansions, std::size_t n_outputs,
                   const LayerRange& layers) {
  ListPlan list{};
  list.tensor = expansions.tensor;
  list.w_kernel = expansions.w_kernel;
  list.n_ways = static_cast<int>(expansions.expansions.size());
  for (std::size_t i = 0; i < expansions.expansions.size(); ++i)
    list.w_unit_lambda[i] = expansions.expansions[i].w_unit_lambda;
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
