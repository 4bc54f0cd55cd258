// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <complex>

#include "kernels/epic/epic.h"

namespace apsyn {

/// g of a channel, which the plan may give for whole input channels; 0 for flagged antennas.
inline std::complex<double> epic_factor(const EpicPlan& plan, std::size_t ant, std::size_t pol,
                                        std::size_t channel) {
  if (!plan.flagged.empty() && plan.flagged[ant] != 0) return 0;
  if (plan.factor.size() == 0) return 1;
  return plan.factor(ant, pol, plan.factor.extent(2) == plan.n_chan ? channel / plan.n_fine : channel);
}

}  // namespace apsyn
