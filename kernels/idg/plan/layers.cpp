// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/plan/layers.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/idg/plan/w_terms.h"

namespace apsyn::idg {
namespace {

constexpr double two_pi = 2 * std::numbers::pi;
/// Largest w phase of a subgrid's visibilities relative to their middle, in radians: it takes six Chebyshev
/// terms at 1e-6.
constexpr double kMaxTaskPhase = 1.1;
/// Fraction of a layer step by which subgrids may reach across the border between layers, so that not every
/// path that crosses one has to be cut.
constexpr double kSlack = 0.1;

std::size_t layers_within(double most, double largest) {
  if (largest >= most) return 1;
  return static_cast<std::size_t>(std::ceil(most / largest * (1 + 2 * kSlack) * (1 - 1e-9)));
}

}  // namespace

double max_half_w(double max_w) {
  return std::max(max_w / 2, 1e-9);
}

std::size_t count_layers(double max_w, double largest) {
  return largest <= max_w * 1e-6 ? 0 : layers_within(max_half_w(max_w), largest);
}

void set_layers(IdgPlan& plan, double max_w, double largest) {
  const double most = max_half_w(max_w);
  plan.n_layers = layers_within(most, largest);
  const auto n_layers = static_cast<double>(plan.n_layers);
  plan.layer_step_lambda = 2 * most / n_layers;
  plan.layer_slack_lambda = plan.n_layers == 1 ? 0 : kSlack * plan.layer_step_lambda;
  plan.half_w_lambda = plan.layer_step_lambda / 2 + plan.layer_slack_lambda;
  plan.first_layer_lambda = plan.layer_step_lambda / 2;
  plan.n_terms = chebyshev_terms(two_pi * plan.half_w_lambda * plan.n_half_range, plan.settings.accuracy / 8);
  plan.max_task_half_w_lambda =
      std::min(plan.half_w_lambda, kMaxTaskPhase / (two_pi * std::max(plan.n_half_range, 1e-30)));
}

bool use_chebyshev(IdgPlan& plan, const Field& field, double max_w, double largest) {
  if (count_layers(max_w, largest) == 0) return false;
  plan.w_handling = WHandling::chebyshev;
  plan.n_middle = (1 + field.n_min_padded) / 2;
  plan.n_half_range = (1 - field.n_min_padded) / 2;
  set_layers(plan, max_w, largest);
  return true;
}

void use_kernel(IdgPlan& plan, const Field& field, double max_w) {
  const double half_range = std::max(1 - field.n_min_image, 1e-9) / 2;  // 0 for a single pixel
  const SemicircleShape shape = semicircle_shape(plan.settings.accuracy / 4);
  const double step = 1 / (4 * half_range);
  plan.w_handling = WHandling::kernel;
  plan.n_layers = static_cast<std::size_t>(std::floor(max_w / step)) + shape.support;
  plan.layer_step_lambda = step;
  plan.layer_slack_lambda = 0;
  plan.half_w_lambda = static_cast<double>(shape.support) / 2 * step;
  plan.max_task_half_w_lambda = step / 2;
  // The layers that a visibility reaches are the n_terms ones from floor(w / step) on.
  plan.first_layer_lambda = (1 - static_cast<double>(shape.support) / 2) * step;
  plan.kernel_beta = shape.beta;
  plan.n_terms = shape.support;
  plan.n_middle = (1 + field.n_min_image) / 2;
  plan.n_half_range = half_range;
}

}  // namespace apsyn::idg
