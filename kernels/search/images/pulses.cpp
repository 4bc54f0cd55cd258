// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/search/images/pulses.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace apsyn {
namespace {

bool brighter(const PulseHit& a, const PulseHit& b) {
  if (a.sn != b.sn) return a.sn > b.sn;
  return std::tie(a.trial, a.begin, a.width, a.y, a.x) < std::tie(b.trial, b.begin, b.width, b.y, b.x);
}

void add(PulseHit& to, const PulseHit& from) {
  to.n_hits += from.n_hits;
  if (from.x != to.x || from.y != to.y) to.n_pixels += from.n_pixels;
  to.first_trial = std::min(to.first_trial, from.first_trial);
  to.last_trial = std::max(to.last_trial, from.last_trial);
  to.first = std::min(to.first, from.first);
  to.last = std::max(to.last, from.last);
}

double difference(std::uint32_t a, std::uint32_t b) {
  return static_cast<double>(a) - static_cast<double>(b);
}

}  // namespace

bool PulseRule::belongs(const PulseHit& weaker, const PulseHit& stronger) const {
  const auto width = static_cast<double>(std::max(weaker.width, stronger.width));
  const double track = delay[stronger.trial] - delay[weaker.trial], slack = width / 2 + 1;
  const double early = static_cast<double>(stronger.begin) + std::min(0.0, track) - slack,
               late = static_cast<double>(stronger.begin + stronger.width) + std::max(0.0, track) + slack;
  if (static_cast<double>(weaker.begin) > late || static_cast<double>(weaker.begin + weaker.width) < early)
    return false;
  if (std::hypot(difference(weaker.x, stronger.x), difference(weaker.y, stronger.y)) <= beam_pixels + 1)
    return true;
  return std::abs(track) <= width + 1 || 2 * weaker.sn <= stronger.sn;
}

std::int64_t PulseRule::reach() const {
  return static_cast<std::int64_t>(std::ceil(delay.back() - delay.front())) + 2 * longest + 2;
}

GatheredPulses gather_pulses(std::vector<PulseHit> hits, const PulseRule& rule, std::size_t most) {
  std::sort(hits.begin(), hits.end(), brighter);
  GatheredPulses gathered;
  for (const PulseHit& hit : hits) {
    const auto owner = std::find_if(gathered.pulses.begin(), gathered.pulses.end(),
                                    [&](const PulseHit& pulse) { return rule.belongs(hit, pulse); });
    if (owner != gathered.pulses.end())
      add(*owner, hit);
    else if (gathered.pulses.size() < most)
      gathered.pulses.push_back(hit);
    else
      gathered.n_dropped += hit.n_hits;
  }
  return gathered;
}

}  // namespace apsyn
