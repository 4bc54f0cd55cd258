// SPDX-License-Identifier: GPL-3.0-or-later
// Complex gains of input channels (--gains) and of fine channels (--bandpass).
#pragma once

#include "libcore/array/gains.h"
#include "tools/correlate/plan.h"

namespace apsyn {

/// What voltages are divided by, as MeanPlan::gains.
inline Buffer<std::complex<double>, 3> gains_of(const CorrelateOptions& options, const CorrelatePlan& plan,
                                                OpenedVoltages& voltages) {
  if (options.bandpass.empty())
    return voltages.has_gains ? std::move(voltages.gains) : Buffer<std::complex<double>, 3>();
  auto gains = read_gains_csv(options.bandpass, plan.header.layout, plan.header.n_pol,
                              plan.header.n_chan * plan.x.n_fine);
  for (std::size_t ant = 0; ant < plan.header.n_ant; ++ant)
    for (std::size_t pol = 0; pol < plan.header.n_pol; ++pol)
      for (std::size_t channel = 0; channel < gains.extent(2); ++channel)
        gains(ant, pol, channel) *= voltages.gains(ant, pol, channel / plan.x.n_fine);
  return gains;
}

}  // namespace apsyn
