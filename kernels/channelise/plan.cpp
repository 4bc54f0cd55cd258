// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "kernels/channelise/channelise.h"
#include "libcore/base/error.h"
#include "libcore/base/units.h"

namespace apsyn {

std::vector<double> ChannelisePlan::channel_hz() const {
  std::vector<double> hz;
  hz.reserve(n_chan * n_fine);
  for (double mixed : mixed_hz)
    for (double offset : offset_hz) hz.push_back(mixed + offset);
  return hz;
}

double ChannelisePlan::channel_step_hz() const {
  if (n_fine > 1) return offset_hz[1] - offset_hz[0];
  if (n_chan > 1) return mixed_hz[1] - mixed_hz[0];
  const double width = 1 / (sample_s * (real_input ? 2 : 1));
  return width;
}

ChannelisePlan plan_channelise(const VoltageHeader& header, std::size_t n_fine, unsigned n_threads,
                               const Filterbank& filterbank) {
  constexpr std::size_t kMaxFine = std::size_t{1} << 24;
  if (n_fine == 0 || n_fine > kMaxFine)
    throw UsageError("--channels {}: give 1 to {} fine channels per input channel", n_fine, kMaxFine);
  if (filterbank.n_taps > kMaxTaps)
    throw UsageError("--pfb-taps {}: give at most {}", filterbank.n_taps, kMaxTaps);
  if (filterbank.n_taps > 0 && n_fine == 1)
    throw UsageError(
        "--pfb-taps {}: one fine channel leaves a filterbank nothing to divide: give --channels 2 or more, "
        "or "
        "--pfb-taps 0",
        filterbank.n_taps);
  ChannelisePlan plan;
  plan.filterbank = filterbank;
  plan.n_chan = header.n_chan;
  plan.n_ant = header.n_ant;
  plan.n_pol = header.n_pol;
  plan.n_fine = n_fine;
  plan.real_input = header.n_dim == 1;
  plan.n_sample = plan.real_input ? 2 * n_fine : n_fine;
  plan.sample_s = header.sample_s;
  plan.flagged.assign(plan.n_ant, 0);
  for (std::size_t ant = 0; ant < std::min(plan.n_ant, header.layout.antennas.size()); ++ant)
    plan.flagged[ant] = header.layout.antennas[ant].flagged;
  plan.n_threads = std::max(1u, n_threads);

  const double width_hz = 1 / (header.sample_s * (plan.real_input ? 2 : 1));
  const double fine_hz = width_hz / static_cast<double>(n_fine);
  const bool descending = header.bandwidth_hz < 0;
  const bool mirrored = plan.real_input && descending;
  plan.imaginary_sign = mirrored ? -1 : 1;
  for (std::size_t chan = 0; chan < plan.n_chan; ++chan) {
    const double centre = header.channel_freq_hz(chan);
    // a real band runs from its lower edge upwards, or mirrored from its upper edge downwards
    plan.mixed_hz.push_back(!plan.real_input ? centre : centre - plan.imaginary_sign * width_hz / 2);
  }
  const auto n = static_cast<std::int64_t>(n_fine);
  const auto length = static_cast<std::int64_t>(plan.n_sample);
  for (std::int64_t fine = 0; fine < n; ++fine) {
    const std::int64_t rising = descending ? n - 1 - fine : fine;
    // the grid index of the sky frequency relative to nu_0
    std::int64_t index = rising - n / 2;
    if (plan.real_input) index = mirrored ? rising - (n - 1) : rising;
    plan.offset_hz.push_back(static_cast<double>(index) * fine_hz);
    const std::int64_t bin = mirrored ? -index : index;
    plan.bin.push_back(static_cast<std::size_t>((bin % length + length) % length));
  }
  return plan;
}

std::string describe(const ChannelisePlan& plan) {
  return fmt::format("spectra: {} fine channels per channel, {} samples, {} each, {}", plan.n_fine,
                     plan.n_sample, format_duration(static_cast<double>(plan.n_sample) * plan.sample_s),
                     plan.filterbank.n_taps == 0 ? std::string("plain Fourier transform")
                                                 : fmt::format("polyphase filterbank of {} taps, {} samples",
                                                               plan.filterbank.n_taps, plan.n_span()));
}

}  // namespace apsyn
