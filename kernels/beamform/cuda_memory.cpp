// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/beamform/cuda_memory.h"

#include <algorithm>

namespace apsyn {

std::uint64_t out_time_bytes(const BeamformPlan& plan) {
  return std::uint64_t{4} * plan.n_beam * plan.n_out_channel() * plan.n_value();
}

std::uint64_t out_bytes_of(const BeamformPlan& plan, std::size_t batch_spectra) {
  return (batch_spectra / plan.n_integrate + 1) * out_time_bytes(plan);
}

std::size_t cuda_beam_batch(const BeamformPlan& plan, std::size_t most, std::uint64_t out_bytes) {
  constexpr std::size_t kWhole = 128;
  const std::uint64_t times = std::max<std::uint64_t>(1, out_bytes / out_time_bytes(plan));
  const std::uint64_t spectra = times > most / plan.n_integrate ? most : times * plan.n_integrate;
  return static_cast<std::size_t>(spectra >= kWhole ? spectra / kWhole * kWhole : spectra);
}

std::uint64_t cuda_beam_host_bytes(const BeamformPlan& plan, std::size_t batch_spectra) {
  return 2 *
         (out_bytes_of(plan, batch_spectra) + 4 * batch_spectra * plan.n_chan + 8 * plan.n_beam * plan.n_ant);
}

}  // namespace apsyn
