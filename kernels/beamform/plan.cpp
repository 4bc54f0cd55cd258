// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/beamform/beamform.h"
#include "kernels/beamform/cpu/work_items.h"
#include "libcore/base/constants.h"

namespace apsyn {

std::int64_t steering_interval(double max_rate, double highest_hz, double spectrum_s,
                               double phase_error_rad) {
  const double per_spectrum_rad = kTwoPi * highest_hz * max_rate * spectrum_s;
  std::int64_t interval = kNeverSteered;
  while (interval > 1 && per_spectrum_rad * static_cast<double>(interval) / 2 > phase_error_rad)
    interval /= 2;
  return interval;
}

WorkItems work_items(const BeamformPlan& plan) {
  // 16 beams share what turning a tile costs; 16 channels fill a cache line of output
  constexpr std::size_t kBeams = 16, kChannels = 16;
  WorkItems items;
  const std::size_t wanted = plan.n_threads > 1 ? 3 * std::size_t{plan.n_threads} : 1;
  const auto split = [](std::size_t n, std::size_t most) {
    const std::size_t parts = (n + most - 1) / most;
    return (n + parts - 1) / parts;
  };
  items.n_beam = split(plan.n_beam, kBeams);
  items.n_chan = split(plan.n_out_channel(), kChannels);
  const auto count = [&] {
    return ((plan.n_out_channel() + items.n_chan - 1) / items.n_chan) *
           ((plan.n_beam + items.n_beam - 1) / items.n_beam);
  };
  while (items.n_chan > 1 && count() < wanted) items.n_chan = (items.n_chan + 1) / 2;
  while (items.n_beam > 1 && count() < wanted) items.n_beam = (items.n_beam + 1) / 2;
  items.n_beam_group = (plan.n_beam + items.n_beam - 1) / items.n_beam;
  return items;
}

void check_plan(const BeamformPlan& plan) {
  const auto shaped = [&](const Buffer<std::complex<double>, 3>& table) {
    return table.size() == 0 || (table.extent(0) == plan.n_ant && table.extent(1) == plan.n_pol &&
                                 (table.extent(2) == plan.n_chan || table.extent(2) == plan.n_channel()));
  };
  const bool both = plan.product == BeamProduct::iquv || plan.product == BeamProduct::coherence;
  if (plan.n_beam == 0 || plan.n_input() == 0 || plan.n_channel() == 0 || plan.n_pol > 2 ||
      plan.channel_hz.size() != plan.n_channel() || plan.n_average == 0 || plan.n_integrate == 0 ||
      plan.first_spectrum < 0 || plan.update_spectra < 1 ||
      (plan.update_spectra & (plan.update_spectra - 1)) != 0 || plan.n_channel() % plan.n_average != 0 ||
      plan.member.extent(0) != plan.n_beam || plan.member.extent(1) != plan.n_ant || !shaped(plan.weights) ||
      !shaped(plan.calibration) || (both && plan.n_pol != 2) ||
      (plan.product == BeamProduct::voltage &&
       (plan.n_average != 1 || plan.n_integrate != 1 || plan.incoherent)))
    throw std::logic_error("Beamformer: a plan that contradicts itself");
}

std::uint64_t beamformer_bytes(const BeamformPlan& plan) {
  const WorkItems items = work_items(plan);
  const std::uint64_t weights =
      std::uint64_t{plan.n_channel()} * plan.n_beam * plan.n_input() * 2 * sizeof(float);
  const std::uint64_t sums = plan.n_integrate > 1 ? std::uint64_t{plan.n_beam} * plan.n_out_channel() *
                                                        (plan.n_value() + 1) * sizeof(double)
                                                  : 0;
  const std::uint64_t scratch = (plan.n_input() * 2 + items.n_beam * (20 + items.n_chan * plan.n_value())) *
                                kTileSpectra * sizeof(float);
  const std::uint64_t tables = (plan.weights.size() + plan.calibration.size()) * sizeof(std::complex<double>);
  return weights + sums + plan.n_threads * scratch + tables;
}

}  // namespace apsyn
