// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/capture/frames/channel_groups.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "libcore/base/error.h"

namespace apsyn {
namespace {

/// The wanted channels, which the groups must cover from end to end.
ChannelRange channel_range(const std::set<std::uint32_t>& groups, std::size_t n_chan,
                           const CaptureFacts& facts) {
  const auto last = static_cast<std::uint32_t>(*groups.rbegin() + n_chan);
  ChannelRange range{*groups.begin(), 0};
  if (facts.first_channel >= 0) range.first = static_cast<std::uint32_t>(facts.first_channel);
  range.n = facts.n_chan > 0 ? facts.n_chan : last - std::min(last, range.first);
  for (std::size_t chan = range.first; chan < range.first + range.n; chan += n_chan)
    if (groups.count(static_cast<std::uint32_t>(chan)) == 0)
      throw UsageError(
          "channel {}: no packets begin with it, those of {} to {} do: choose neighbouring packets of {} "
          "channels with --first-channel and --channels",
          chan, *groups.begin(), *groups.rbegin(), n_chan);
  if (range.n == 0 || range.n % n_chan != 0)
    throw UsageError("--channels {}: give a multiple of the {} channels of a packet", range.n, n_chan);
  return range;
}

VoltageHeader describe(const CaptureFacts& facts, const ChannelRange& range, std::size_t n_inputs,
                       const std::optional<UtcTime>& start) {
  VoltageHeader header;
  header.telescope = "LWA";
  header.n_chan = range.n;
  header.n_pol = 2;
  header.n_ant = n_inputs / 2;
  header.n_bit = 4;
  header.missing_samples = facts.missing_samples > 0 ? facts.missing_samples : 1;
  header.sample_s = 1 / kLwaChannel_hz;
  header.bandwidth_hz = kLwaChannel_hz * static_cast<double>(range.n);
  header.freq_hz = kLwaChannel_hz * (range.first + (static_cast<double>(range.n) - 1) / 2);
  if (start) header.start = *start;
  apply_facts(header, facts);
  return header;
}

/// The bytes of a time sample that belong to the antennas of captured inputs first .. first + n - 1, in all
/// channels; neighbours together.
std::vector<std::pair<std::size_t, std::size_t>> antenna_ranges(const std::vector<std::size_t>& places,
                                                                std::size_t first, std::size_t n,
                                                                std::size_t n_chan) {
  std::set<std::size_t> antennas;
  for (std::size_t i = first; i < first + n; ++i) antennas.insert(places[i] / 2);
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  for (std::size_t chan = 0; chan < n_chan; ++chan)
    for (std::size_t antenna : antennas) {
      const std::size_t at = chan * places.size() + 2 * antenna;
      if (!ranges.empty() && ranges.back().first + ranges.back().second == at)
        ranges.back().second += 2;
      else
        ranges.emplace_back(at, 2);
    }
  return ranges;
}

}  // namespace

void ChannelGroupFormat::decode(const std::uint8_t* payload, std::size_t place, std::size_t,
                                std::uint8_t* out) const {
  const std::size_t first_input = place % all_inputs_;
  out += place - first_input;
  for (std::size_t chan = 0; chan < n_chan; ++chan, payload += n_inputs, out += all_inputs_) {
    if (places_.empty())
      std::memcpy(out + first_input, payload, n_inputs);
    else
      for (std::size_t i = 0; i < n_inputs; ++i) out[places_[first_input + i]] = payload[i];
  }
}

std::unique_ptr<Capture> open_channel_groups(const CaptureRequest& request, PacketInputs inputs,
                                             std::unique_ptr<ChannelGroupFormat> format,
                                             std::size_t n_input_groups, std::int64_t packet_ticks,
                                             const std::function<UtcTime(std::int64_t)>& time_of) {
  const PacketSurvey survey = survey_packets(inputs, *format);
  std::set<std::uint32_t> groups;
  for (const auto& [key, input] : survey.keys) groups.insert(format->chan0(key));
  const ChannelRange range = channel_range(groups, format->n_chan, request.facts);
  const std::size_t n_inputs = n_input_groups * format->n_inputs;
  std::optional<UtcTime> start;
  if (time_of) start = time_of(survey.first_tick);
  const VoltageHeader header = describe(request.facts, range, n_inputs, start);
  const std::vector<std::size_t> places = input_places(request.facts.input_order, n_inputs);
  format->settle(n_inputs, request.facts.input_order.empty() ? std::vector<std::size_t>{} : places);

  PacketPlan plan;
  plan.first_tick = survey.first_tick;
  plan.packet_ticks = packet_ticks;
  plan.max_gap_s = request.facts.max_gap_s;
  for (std::uint32_t chan0 : groups)
    for (std::size_t group = 0; group < n_input_groups; ++group) {
      const auto key = ChannelGroupFormat::key(chan0, static_cast<std::uint32_t>(group));
      if (chan0 < range.first || chan0 >= range.first + range.n) {
        plan.ignored.push_back(key);
        continue;
      }
      PacketLane lane{key, (chan0 - range.first) * n_inputs + group * format->n_inputs, {}};
      lane.blank = antenna_ranges(places, group * format->n_inputs, format->n_inputs, range.n);
      plan.lanes.push_back(std::move(lane));
    }
  return make_packet_capture(header, plan, survey, std::move(inputs), std::move(format));
}

}  // namespace apsyn
