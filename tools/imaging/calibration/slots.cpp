// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/calibration/slots.h"

#include <algorithm>
#include <cmath>

namespace apsyn::calibrate {
namespace {

TimeSlot slot_of(std::span<const MsIntegration> integrations, std::size_t first, std::size_t n) {
  const MsIntegration &begin = integrations[first], &end = integrations[first + n - 1];
  const double begin_s = begin.time_mjd_s - begin.interval_s / 2, end_s = end.time_mjd_s + end.interval_s / 2;
  return {first, n, begin_s + (end_s - begin_s) / 2, end_s - begin_s};
}

/// Whether a slot must not contain both of these neighbours.
bool parts(const MsIntegration& before, const MsIntegration& after) {
  constexpr double kGap = 1.5;
  const double step_s = (before.interval_s + after.interval_s) / 2;
  return before.scan != after.scan || (step_s > 0 && after.time_mjd_s - before.time_mjd_s > kGap * step_s);
}

/// The median step, which is robust against rows without a valid interval.
double step_of(std::span<const MsIntegration> integrations) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < integrations.size(); ++i)
    steps.push_back(integrations[i].time_mjd_s - integrations[i - 1].time_mjd_s);
  if (steps.empty()) return integrations[0].interval_s;
  std::nth_element(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2), steps.end());
  return steps[steps.size() / 2];
}

ChannelBlocks blocks_of(const MsSpectralWindow& window, std::vector<std::uint32_t> of_channel) {
  ChannelBlocks blocks;
  blocks.of_channel = std::move(of_channel);
  for (std::size_t first = 0, n = 0; first < window.channel_hz.size(); first += n) {
    double sum_hz = 0, low_hz = window.channel_hz[first], high_hz = low_hz;
    for (n = 0;
         first + n < window.channel_hz.size() && blocks.of_channel[first + n] == blocks.of_channel[first];
         ++n) {
      const double hz = window.channel_hz[first + n], half = window.width_hz[first + n] / 2;
      sum_hz += hz;
      low_hz = std::min(low_hz, hz - half);
      high_hz = std::max(high_hz, hz + half);
    }
    blocks.freq_hz.push_back(sum_hz / static_cast<double>(n));
    blocks.width_hz.push_back(high_hz - low_hz);
  }
  return blocks;
}

}  // namespace

std::vector<TimeSlot> make_slots(std::span<const MsIntegration> integrations, double interval_s) {
  std::vector<TimeSlot> slots;
  if (integrations.empty()) return slots;
  if (interval_s <= 0) return {slot_of(integrations, 0, integrations.size())};
  for (std::size_t first = 0, n = 0; first < integrations.size(); first += n) {
    n = 1;
    while (first + n < integrations.size() && !parts(integrations[first + n - 1], integrations[first + n]))
      ++n;
    const double step_s = step_of(integrations.subspan(first, n));
    const double wanted = step_s > 0 ? std::max(1.0, std::round(interval_s / step_s)) : 1;
    const auto n_slots =
        static_cast<std::size_t>(std::max(1.0, std::ceil(static_cast<double>(n) / wanted - 1e-9)));
    for (std::size_t i = 0; i < n_slots; ++i) {
      const std::size_t begin = n * i / n_slots, end = n * (i + 1) / n_slots;
      slots.push_back(slot_of(integrations, first + begin, end - begin));
    }
  }
  return slots;
}

std::vector<std::uint32_t> make_cells(const std::vector<std::vector<TimeSlot>>& terms,
                                      std::size_t n_integrations) {
  std::vector<std::uint32_t> begins(n_integrations, 0);
  for (const std::vector<TimeSlot>& slots : terms)
    for (const TimeSlot& slot : slots)
      if (slot.first > 0) begins[slot.first] = 1;
  for (std::size_t i = 1; i < n_integrations; ++i) begins[i] += begins[i - 1];
  return begins;
}

std::size_t integration_at(std::span<const MsIntegration> integrations, double time_mjd_s) {
  const auto at = std::lower_bound(integrations.begin(), integrations.end(), time_mjd_s,
                                   [](const MsIntegration& i, double t) { return i.time_mjd_s < t; });
  return static_cast<std::size_t>(at - integrations.begin());
}

ChannelBlocks make_blocks(const MsSpectralWindow& window, std::size_t channels) {
  const std::size_t n = window.channel_hz.size();
  if (channels == 0) channels = std::max<std::size_t>(1, n);
  std::vector<std::uint32_t> of_channel(n);
  for (std::size_t chan = 0; chan < n; ++chan) of_channel[chan] = static_cast<std::uint32_t>(chan / channels);
  return blocks_of(window, std::move(of_channel));
}

ChannelBlocks common_blocks(const MsSpectralWindow& window, std::span<const ChannelBlocks> terms,
                            std::size_t max_channels) {
  const std::size_t n = window.channel_hz.size();
  std::vector<std::uint32_t> of_channel(n, 0);
  std::size_t in_block = 1;
  for (std::size_t chan = 1; chan < n; ++chan) {
    bool begins = in_block == max_channels;
    for (const ChannelBlocks& term : terms)
      begins = begins || term.of_channel[chan] != term.of_channel[chan - 1];
    in_block = begins ? 1 : in_block + 1;
    of_channel[chan] = of_channel[chan - 1] + (begins ? 1 : 0);
  }
  return blocks_of(window, std::move(of_channel));
}

std::vector<std::uint32_t> block_map(const ChannelBlocks& fine, const ChannelBlocks& coarse) {
  std::vector<std::uint32_t> map(fine.size());
  for (std::size_t chan = 0; chan < fine.of_channel.size(); ++chan)
    map[fine.of_channel[chan]] = coarse.of_channel[chan];
  return map;
}

}  // namespace apsyn::calibrate
