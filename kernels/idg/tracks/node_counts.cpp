// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/tracks/node_counts.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

namespace apsyn {
namespace {

constexpr double pi = std::numbers::pi;

}  // namespace

NodeCounts::NodeCounts(const IdgPlan& plan, double error) {
  const double half_l = static_cast<double>(plan.n_u) * plan.image.cell_rad / 2,
               half_m = static_cast<double>(plan.n_v) * plan.image.cell_rad / 2;
  phase_ = {2 * pi * half_l, 2 * pi * half_m, 2 * pi * (1 - plan.n_middle + plan.n_half_range)};
  // RMS over the image of the phase's powers, and what comes back from the padding as of spread kernels.
  constexpr int samples = 64;
  const double padding = plan.settings.padding, comes_back = 0.1 / plan.taper(1 / padding);
  double scale = 1;
  for (std::size_t n = 1; n <= max_track_nodes; ++n) {
    scale /= n == 1 ? 1.0 : 2.0 * static_cast<double>(n);
    double power = 0;
    for (int i = 0; i < samples; ++i) {
      const double eta = (i + 0.5) / samples, share = eta < 1 / padding ? 1 : comes_back * plan.taper(eta);
      power += share * share * std::pow(eta, 2 * static_cast<double>(n)) * padding / samples;
    }
    const auto order = static_cast<double>(n);
    max_turn_[n] = std::pow(error / (scale * std::sqrt(power / 2)), 1 / order);
    max_term_[n] = std::pow(max_turn_[n] / 2, order) / std::tgamma(order + 1);
  }
}

double NodeCounts::turn(double wavenumber, const Place& from, const Place& to) const {
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i) sum += phase_[i] * std::abs(to[i] - from[i]);
  return wavenumber * sum / 2;
}

double node_error(const IdgPlan& plan) {
  const bool has_nodes = plan.settings.precision == Precision::single && plan.w_handling != WHandling::kernel;
  return has_nodes ? idg::kNodeShare * plan.settings.accuracy : 0;
}

idg::NodeLimits node_limits(const IdgPlan& plan, double error) {
  const NodeCounts counts(plan, error);
  idg::NodeLimits limits{};
  limits.error = error;
  limits.per_u = static_cast<double>(plan.n_u) * plan.image.cell_rad;
  limits.per_v = static_cast<double>(plan.n_v) * plan.image.cell_rad;
  std::ranges::copy(counts.phase(), limits.phase);
  std::copy_n(counts.max_turn().begin(), std::size(limits.max_turn), limits.max_turn);
  std::copy_n(counts.max_term().begin(), std::size(limits.max_term), limits.max_term);
  return limits;
}

}  // namespace apsyn
