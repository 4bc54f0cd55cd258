// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/measures/beam_tracker.h"

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"

namespace apsyn {

BeamTracker::BeamTracker(const ArrayLayout& layout, const UtcTime& start, std::vector<BeamDirection> beams,
                         const std::optional<SkyDirection>& applied, bool align)
    : frame_(layout.site.value()), start_(start), beams_(std::move(beams)), applied_(applied), align_(align) {
  const Vec3 origin = layout.antennas[reference_antenna(layout)].enu_m;
  double longest_m = 0;
  for (const Antenna& antenna : layout.antennas) {
    offset_m_.push_back(antenna.enu_m - origin);
    cable_s_.push_back(antenna.cable_delay_s);
    longest_m = std::max(longest_m, length(offset_m_.back()));
  }
  max_delay_s_ = delay_bound_s(layout, applied_ ? 2 : 1);
  // each direction that follows the sky moves by at most the Earth's rotation
  const bool tracking = std::any_of(beams_.begin(), beams_.end(),
                                    [](const BeamDirection& beam) { return beam.sky.has_value(); });
  const double moving = align_ ? (tracking ? 2 : 0) : (tracking ? 1 : 0) + (applied_ ? 1 : 0);
  max_rate_ = moving * kEarthRotation_rad_s * longest_m / kSpeedOfLight_m_s;
}

std::vector<BeamTracker::Nodes> BeamTracker::make_segment(std::int64_t index) const {
  std::vector<Nodes> direction(beams_.size() + 1);
  for (std::size_t node = 0; node < 4; ++node) {
    const UtcTime time = node_time(start_, index, node);
    const Vec3 applied = applied_ ? frame_.enu_from_direction(time, *applied_) : Vec3{};
    Vec3& mean = direction.back()[node];
    for (std::size_t beam = 0; beam < beams_.size(); ++beam) {
      Vec3& step = direction[beam][node];
      step = beams_[beam].sky ? frame_.enu_from_direction(time, *beams_[beam].sky) : beams_[beam].enu;
      step = step - applied;
      mean = mean + scaled(step, 1 / static_cast<double>(beams_.size()));
    }
  }
  return direction;
}

Vec3 BeamTracker::interpolate(const Segments& segments, std::size_t which, double t_s) {
  double x = 0;
  const Nodes& nodes = segments.at(t_s, x)[which];
  x *= 3;  // nodes at 0, 1, 2, 3
  const std::array<double, 4> weight{-(x - 1) * (x - 2) * (x - 3) / 6, x * (x - 2) * (x - 3) / 2,
                                     -x * (x - 1) * (x - 3) / 2, x * (x - 1) * (x - 2) / 6};
  Vec3 direction{};
  for (std::size_t node = 0; node < 4; ++node) direction = direction + scaled(nodes[node], weight[node]);
  return direction;
}

void BeamTracker::prepare(double begin_s, double end_s) {
  segments_.cover(begin_s, end_s, [&](std::int64_t index) { return make_segment(index); });
}

void BeamTracker::delays_s(std::size_t beam, double t_s, std::span<double> delay_s) const {
  Vec3 step = interpolate(segments_, beam, t_s);
  if (align_) step = step - interpolate(segments_, beams_.size(), t_s);
  for (std::size_t ant = 0; ant < offset_m_.size(); ++ant)
    delay_s[ant] = dot(offset_m_[ant], step) / kSpeedOfLight_m_s - (align_ ? 0 : cable_s_[ant]);
}

void BeamTracker::Reference::prepare(double begin_s, double end_s) {
  segments_.cover(begin_s, end_s, [&](std::int64_t index) { return tracker_.make_segment(index); });
}

double BeamTracker::Reference::delay_s(std::size_t ant, double t_s) const {
  const Vec3 step = interpolate(segments_, tracker_.beams_.size(), t_s);
  return dot(tracker_.offset_m_[ant], step) / kSpeedOfLight_m_s - tracker_.cable_s_[ant];
}

}  // namespace apsyn
