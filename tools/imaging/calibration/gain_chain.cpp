// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/calibration/gain_chain.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace apsyn::calibrate {
namespace {

struct Freedom {
  bool phases = false, amplitudes = false, hands = false;
};

Freedom freedom_of(CalibrationTerm term) {
  switch (term) {
    case CalibrationTerm::phase:
      return {true, false, true};
    case CalibrationTerm::scalar_phase:
      return {true, false, false};
    case CalibrationTerm::amplitude:
      return {false, true, true};
    case CalibrationTerm::scalar_gain:
      return {true, true, false};
    default:
      return {true, true, true};
  }
}

double length_of(const TermOptions& term) {
  return term.interval_s > 0 ? term.interval_s : std::numeric_limits<double>::infinity();
}

std::size_t slot_of(const std::vector<TimeSlot>& slots, std::size_t integration) {
  const auto next = std::upper_bound(slots.begin(), slots.end(), integration,
                                     [](std::size_t i, const TimeSlot& slot) { return i < slot.first; });
  return static_cast<std::size_t>(next - slots.begin()) - 1;
}

}  // namespace

bool replaces(const TermOptions& later, const TermOptions& earlier) {
  const Freedom own = freedom_of(later.term), other = freedom_of(earlier.term);
  return length_of(later) <= length_of(earlier) && own.phases >= other.phases &&
         own.amplitudes >= other.amplitudes && own.hands >= other.hands;
}

void GainChain::add(ChainLink link) {
  *this = before(link.options);
  links_.push_back(std::make_shared<ChainLink>(std::move(link)));
}

GainChain GainChain::before(const TermOptions& term) const {
  GainChain kept = *this;
  std::erase_if(kept.links_, [&](const auto& link) { return replaces(term, link->options); });
  return kept;
}

std::vector<WindowPart> parts_of(const std::vector<MsSpectralWindow>& windows, const ChannelGroup& group) {
  std::vector<WindowPart> parts;
  for (const MsSpectralWindow& window : windows) {
    WindowPart part;
    double low_edge_hz = 0, high_edge_hz = 0;
    for (std::size_t chan = 0; chan < window.channel_hz.size(); ++chan) {
      const double hz = window.channel_hz[chan], half_hz = window.width_hz[chan] / 2;
      if (hz < group.low_hz || hz > group.high_hz) continue;
      const bool first = part.n_channels++ == 0;
      part.low_hz = first ? hz : std::min(part.low_hz, hz);
      part.high_hz = first ? hz : std::max(part.high_hz, hz);
      low_edge_hz = first ? hz - half_hz : std::min(low_edge_hz, hz - half_hz);
      high_edge_hz = first ? hz + half_hz : std::max(high_edge_hz, hz + half_hz);
    }
    if (part.n_channels == 0) continue;
    part.centre_hz = low_edge_hz + (high_edge_hz - low_edge_hz) / 2;
    part.width_hz = high_edge_hz - low_edge_hz;
    const auto is_same = [&](const WindowPart& other) {
      return other.low_hz == part.low_hz && other.high_hz == part.high_hz &&
             other.n_channels == part.n_channels;
    };
    if (std::none_of(parts.begin(), parts.end(), is_same)) parts.push_back(part);
  }
  std::sort(parts.begin(), parts.end(),
            [](const WindowPart& a, const WindowPart& b) { return a.centre_hz < b.centre_hz; });
  return parts;
}

std::size_t GainChain::part_of(const ImagingBlock& block) const {
  const std::size_t n = block.channel_hz.size();
  const double first_hz = block.channel_hz(0), last_hz = block.channel_hz(n - 1);
  const auto at = std::find_if(parts_.begin(), parts_.end(), [&](const WindowPart& part) {
    return part.n_channels == n && part.low_hz == std::min(first_hz, last_hz) &&
           part.high_hz == std::max(first_hz, last_hz);
  });
  if (at == parts_.end()) throw std::invalid_argument("GainChain: a block of no spectral window");
  return static_cast<std::size_t>(at - parts_.begin());
}

KnownGains GainChain::gains(std::size_t part, std::size_t integration) const {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  KnownGains known;
  known.value.resize_for_overwrite({1, n_antennas_, n_hands_});
  for (std::size_t antenna = 0; antenna < n_antennas_; ++antenna)
    for (std::size_t hand = 0; hand < n_hands_; ++hand) {
      std::complex<double> product = 1;
      bool flagged = false;
      for (const auto& link : links_) {
        const SolutionTable& table = link->table;
        const std::size_t slot = slot_of(link->slots, integration), pol = std::min(hand, table.n_pol() - 1);
        flagged = flagged || !(table.weight(slot, 0, antenna, part, pol) > 0);
        product *= table.values(slot, 0, antenna, part, pol);
      }
      known.value(0, antenna, hand) = flagged ? std::complex<float>(nan, nan) : std::complex<float>(product);
    }
  return known;
}

}  // namespace apsyn::calibrate
