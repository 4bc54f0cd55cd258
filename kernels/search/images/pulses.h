// SPDX-License-Identifier: GPL-3.0-or-later
// Gathers the hits of one pulse. A pulse of dispersion measure d is seen at others, too: at d' its channels
// arrive within the difference D of the two delays over the band, so that windows near [begin - D, end] (d' >
// d) or [begin, end + D] (d' < d) show it. It is seen in all pixels within the beam, and through its
// sidelobes in the whole image. So a hit belongs to a brighter one when it lies on its track in time and
// dispersion measure and
// - is as near on the sky as the beam is wide, or
// - differs in delay and time by less than the windows are long: two pulses do not begin together, or
// - is at most half as bright: the ends of the track in sidelobes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace apsyn {

struct PulseHit {
  std::uint32_t trial = 0;
  std::int64_t begin = 0, width = 1;  ///< frames at the highest channel
  float sn = 0;
  std::uint32_t x = 0, y = 0;
  /// Extent of all hits that belong to it.
  std::uint64_t n_hits = 1, n_pixels = 1;
  std::uint32_t first_trial = 0, last_trial = 0;
  std::int64_t first = 0, last = 0;  ///< frames, behind the last one
};

struct PulseRule {
  std::span<const double> delay;  ///< of each trial over the band, frames, ascending
  double beam_pixels = 1;         ///< full width at half maximum
  std::int64_t longest = 1;       ///< window

  bool belongs(const PulseHit& weaker, const PulseHit& stronger) const;
  /// Hits whose windows begin further apart are never one pulse.
  std::int64_t reach() const;
};

/// Brightest first, the same whatever the order of the hits: those that belong to no brighter one, and what
/// belongs to them added. No more than `most` of them; the hits of others are dropped and counted.
struct GatheredPulses {
  std::vector<PulseHit> pulses;
  std::uint64_t n_dropped = 0;
};
GatheredPulses gather_pulses(std::vector<PulseHit> hits, const PulseRule& rule, std::size_t most);

}  // namespace apsyn
