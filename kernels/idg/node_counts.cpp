// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/node_counts.h"

#include <algorithm>
#include <cmath>
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
  for (std::size_t n = 1; n <= most_track_nodes; ++n) {
    scale /= n == 1 ? 1.0 : 2.0 * static_cast<double>(n);
    double power = 0;
    for (int i = 0; i < samples; ++i) {
      const double eta = (i + 0.5) / samples, share = eta < 1 / padding ? 1 : comes_back * plan.taper(eta);
      power += share * share * std::pow(eta, 2 * static_cast<double>(n)) * padding / samples;
    }
    most_turn_.push_back(std::pow(error / (scale * std::sqrt(power / 2)), 1 / static_cast<double>(n)));
  }
}

double NodeCounts::turn(double wavenumber, const Place& from, const Place& to) const {
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i) sum += phase_[i] * std::abs(to[i] - from[i]);
  return wavenumber * sum / 2;
}

std::size_t NodeCounts::straight(double turn) const {
  std::size_t n = 1;
  while (n <= most_turn_.size() && turn > most_turn_[n - 1]) ++n;
  return n;
}

/// Of exp(i (z t + sum_p bends[p] t^(p + 2))) the Chebyshev coefficients are at most 2 c_n,
///   sum_n c_n x^n = exp(z x / 2 + sum_p bends[p] (x / 2)^(p + 2)).
std::size_t NodeCounts::bent(double turn, const Bends& bends) const {
  std::array<double, most_track_nodes + 2> c{1};
  double most = 1;
  for (std::size_t n = 1; n < c.size(); ++n) {
    c[n] = turn / 2 * c[n - 1];
    for (std::size_t m = 2; m < 2 + bend_powers && m <= n; ++m)
      c[n] += static_cast<double>(m) * bends[m - 2] * std::ldexp(c[n - m], -static_cast<int>(m));
    c[n] /= static_cast<double>(n);
    // Where a track hardly turns, those of even n are far larger than those before.
    if (n > 1 && std::max(c[n - 1], c[n]) <= most) return n - 1;
    most = std::pow(most_turn_[std::min(n, most_track_nodes) - 1] / 2, static_cast<double>(n)) /
           std::tgamma(static_cast<double>(n + 1));
  }
  return most_track_nodes + 1;
}

}  // namespace apsyn
