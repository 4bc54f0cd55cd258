// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/calibration/gain_chain.h"

#include <algorithm>
#include <limits>
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

KnownGains GainChain::gains(std::size_t integration) const {
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
        flagged = flagged || !(table.weight(slot, 0, antenna, 0, pol) > 0);
        product *= table.values(slot, 0, antenna, 0, pol);
      }
      known.value(0, antenna, hand) = flagged ? std::complex<float>(nan, nan) : std::complex<float>(product);
    }
  return known;
}

}  // namespace apsyn::calibrate
