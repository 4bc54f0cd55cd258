// SPDX-License-Identifier: GPL-3.0-or-later
// Memory of the CUDA F and X stages, planned in builds without CUDA too.
#include "kernels/correlate/fx_engine.h"

namespace apsyn {

std::uint64_t cuda_fx_device_bytes(const CorrelatorPlan& plan, const MeanPlan& mean,
                                   std::size_t max_spectra) {
  const std::uint64_t n_input = plan.n_input(), n_channel = plan.n_chan * plan.n_fine;
  const std::uint64_t tile = n_input > 64 ? 128 : 64, padded = (n_input + tile - 1) / tile * tile;
  const std::uint64_t sums = padded * (padded + tile) / 2 * 8 + n_input * (n_input + 1) / 2 * 16;
  return n_channel * (sums + padded * 2 * max_spectra + n_input * 16) +
         n_channel / mean.n_average * mean.baselines.size() * plan.n_pol * plan.n_pol * 12;
}

}  // namespace apsyn
