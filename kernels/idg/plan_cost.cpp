// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/plan_cost.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/idg/w_terms.h"

namespace apsyn {
namespace {

/// How often the uv plane is cut: every baseline's path along time and along frequency, by squares.
double estimate_subgrids(const IdgPlan& plan, const IdgWorkload& work) {
  const auto bucket = static_cast<double>(plan.bucket());
  const double least = work.n_visibilities / 8192;
  if (work.n_baselines == 0) return std::max(least, work.n_visibilities / 1000 * 20 / bucket);
  const double per_lambda = static_cast<double>(plan.n_u) * plan.image.cell_rad;
  const double cuts = work.n_baselines * (work.time_track_lambda * per_lambda / bucket + 1) *
                      (work.channel_track_lambda * per_lambda / bucket + 1);
  return std::clamp(cuts, least, std::max(least, work.n_visibilities / 32));
}

/// Chebyshev terms of a typical subgrid: w changes about as fast along a baseline's path as u and v do.
double typical_terms(const IdgPlan& plan) {
  if (plan.w_handling == WHandling::kernel) return static_cast<double>(plan.n_terms);
  const double across =
      static_cast<double>(plan.bucket()) / (static_cast<double>(plan.n_u) * plan.image.cell_rad);
  const double half_w = std::min(plan.most_task_half_w_lambda, across / 2);
  return static_cast<double>(
      chebyshev_terms(2 * std::numbers::pi * half_w * plan.n_half_range, plan.settings.accuracy / 8));
}

}  // namespace

PlanCost modelled_cost(const IdgPlan& plan, const IdgWorkload& work) {
  const auto side2 = static_cast<double>(plan.settings.subgrid * plan.settings.subgrid);
  const auto planes = static_cast<double>(work.n_planes);
  const double terms = typical_terms(plan),
               cells = static_cast<double>(plan.n_u) * static_cast<double>(plan.n_v);
  const bool single = plan.settings.precision == Precision::single, gpu = work.device == Device::Kind::cuda;
  const double outputs = plan.w_handling == WHandling::kernel ? terms : 1;
  double visibility_ns, pixel_ns, cell_ns;
  if (gpu) {
    const bool tensor = outputs == 1 && is_fast_on_gpu(plan);
    // Measured on an H200; bins of w, and cuts that the estimate does not count, are the subgrids' share.
    visibility_ns = side2 * planes * (tensor ? 1e-4 : 2e-4 * terms);
    pixel_ns = 0.046;
    // Columns go straight into the image where their length allows, otherwise cuFFT transforms layers.
    cell_ns = !is_fast_on_gpu(plan) ? 0.04 : plan.n_v % 2048 == 0 ? 0.008 : 0.016;
  } else {
    visibility_ns = single ? 12 + planes * (2.5 + 2 * terms) : (5 + 12 * planes) * terms;
    pixel_ns = (single ? 1 : 3) * (5 + 2.5 * terms / outputs);
    cell_ns = 8;
  }
  return {.visibility_s = 1e-9 * visibility_ns,
          .subgrids_s = 1e-9 * estimate_subgrids(plan, work) * side2 * planes * outputs * pixel_ns,
          .layer_s = 1e-9 * cells * planes * cell_ns};
}

}  // namespace apsyn
