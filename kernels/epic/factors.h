// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <complex>
#include <vector>

#include "kernels/epic/epic.h"

namespace apsyn {

/// The factor g in a channel; the plan may have one value for each input channel. 0 for flagged antennas, and
/// in channels that are left out.
inline std::complex<double> epic_factor(const EpicPlan& plan, std::size_t ant, std::size_t pol,
                                        std::size_t channel) {
  if (!plan.flagged.empty() && plan.flagged[ant] != 0) return 0;
  if (!plan.left_out.empty() && plan.left_out[channel] != 0) return 0;
  if (plan.factor.size() == 0) return 1;
  return plan.factor(ant, pol, plan.factor.extent(2) == plan.n_chan ? channel / plan.n_fine : channel);
}

/// Factors of autocorrelations in an image: |g_x|^2, |g_y|^2, and the parts of g_x conj(g_y). [channel][ant]
inline std::vector<std::array<double, 4>> auto_gains(const EpicPlan& plan) {
  std::vector<std::array<double, 4>> gains;
  for (std::size_t channel = 0; channel < plan.n_channel(); ++channel)
    for (std::size_t ant = 0; ant < plan.n_ant; ++ant) {
      const std::complex<double> x = epic_factor(plan, ant, 0, channel);
      const std::complex<double> y = plan.n_pol == 2 ? epic_factor(plan, ant, 1, channel) : 0.0;
      const std::complex<double> xy = x * std::conj(y);
      gains.push_back({std::norm(x), std::norm(y), xy.real(), xy.imag()});
    }
  return gains;
}

}  // namespace apsyn
