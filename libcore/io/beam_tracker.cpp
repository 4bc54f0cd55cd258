// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/io/beam_tracker.h"

#include <algorithm>
#include <cmath>

#include "libcore/core/constants.h"

namespace apsyn {

namespace {

constexpr double kSegment_s = 10;
constexpr double kEarthRotation_rad_s = 7.2921151e-5;

double length(const Vec3& v) {
  return std::sqrt(dot(v, v));
}

Vec3 scaled(const Vec3& v, double factor) {
  return {v[0] * factor, v[1] * factor, v[2] * factor};
}

}  // namespace

std::size_t reference_antenna(const ArrayLayout& layout) {
  Vec3 mean{};
  for (const Antenna& antenna : layout.antennas)
    mean = mean + scaled(antenna.enu_m, 1 / static_cast<double>(layout.antennas.size()));
  const auto nearest = std::min_element(
      layout.antennas.begin(), layout.antennas.end(),
      [&](const Antenna& a, const Antenna& b) { return length(a.enu_m - mean) < length(b.enu_m - mean); });
  return static_cast<std::size_t>(nearest - layout.antennas.begin());
}

BeamTracker::BeamTracker(const ArrayLayout& layout, const UtcTime& start, std::vector<BeamDirection> beams,
                         const std::optional<SkyDirection>& applied, bool align)
    : frame_(layout.site.value()), start_(start), beams_(std::move(beams)), applied_(applied), align_(align) {
  const Vec3 origin = layout.antennas[reference_antenna(layout)].enu_m;
  const double largest_step = applied_ ? 2 : 1;
  double longest_m = 0;
  for (const Antenna& antenna : layout.antennas) {
    offset_m_.push_back(antenna.enu_m - origin);
    cable_s_.push_back(antenna.cable_delay_s);
    longest_m = std::max(longest_m, length(offset_m_.back()));
    max_delay_s_ = std::max(max_delay_s_, length(offset_m_.back()) * largest_step / kSpeedOfLight_m_s +
                                              std::abs(antenna.cable_delay_s));
  }
  // each direction that follows the sky moves by at most the Earth's rotation
  const bool tracking = std::any_of(beams_.begin(), beams_.end(),
                                    [](const BeamDirection& beam) { return beam.sky.has_value(); });
  const double moving = align_ ? (tracking ? 2 : 0) : (tracking ? 1 : 0) + (applied_ ? 1 : 0);
  max_rate_ = moving * kEarthRotation_rad_s * longest_m / kSpeedOfLight_m_s;
}

BeamTracker::Segment BeamTracker::make_segment(std::int64_t index) const {
  Segment segment;
  segment.index = index;
  segment.direction.resize(beams_.size() + 1);
  for (std::size_t node = 0; node < 4; ++node) {
    const double t_s = (static_cast<double>(index) + static_cast<double>(node) / 3) * kSegment_s;
    const UtcTime time = add_picoseconds(start_, static_cast<__int128>(std::llround(t_s * 1e12)));
    const Vec3 applied = applied_ ? frame_.enu_from_direction(time, *applied_) : Vec3{};
    Vec3& mean = segment.direction.back()[node];
    for (std::size_t beam = 0; beam < beams_.size(); ++beam) {
      Vec3& step = segment.direction[beam][node];
      step = beams_[beam].sky ? frame_.enu_from_direction(time, *beams_[beam].sky) : beams_[beam].enu;
      step = step - applied;
      mean = mean + scaled(step, 1 / static_cast<double>(beams_.size()));
    }
  }
  return segment;
}

void BeamTracker::cover(std::deque<Segment>& segments, double begin_s, double end_s) const {
  const auto first = static_cast<std::int64_t>(std::floor(begin_s / kSegment_s));
  const auto last = static_cast<std::int64_t>(std::floor(end_s / kSegment_s));
  while (!segments.empty() && segments.front().index < first) segments.pop_front();
  if (segments.empty()) segments.push_back(make_segment(first));
  while (segments.back().index < last) segments.push_back(make_segment(segments.back().index + 1));
}

Vec3 BeamTracker::interpolate(const std::deque<Segment>& segments, std::size_t which, double t_s) {
  const double position = t_s / kSegment_s;
  const auto index = std::clamp(static_cast<std::int64_t>(std::floor(position)), segments.front().index,
                                segments.back().index);
  const double x = 3 * (position - static_cast<double>(index));  // nodes at 0, 1, 2, 3
  const std::array<double, 4> weight{-(x - 1) * (x - 2) * (x - 3) / 6, x * (x - 2) * (x - 3) / 2,
                                     -x * (x - 1) * (x - 3) / 2, x * (x - 1) * (x - 2) / 6};
  const auto& nodes = segments[static_cast<std::size_t>(index - segments.front().index)].direction[which];
  Vec3 direction{};
  for (std::size_t node = 0; node < 4; ++node) direction = direction + scaled(nodes[node], weight[node]);
  return direction;
}

void BeamTracker::prepare(double begin_s, double end_s) {
  cover(segments_, begin_s, end_s);
}

void BeamTracker::delays_s(std::size_t beam, double t_s, std::span<double> delay_s) const {
  Vec3 step = interpolate(segments_, beam, t_s);
  if (align_) step = step - interpolate(segments_, beams_.size(), t_s);
  for (std::size_t ant = 0; ant < offset_m_.size(); ++ant)
    delay_s[ant] = dot(offset_m_[ant], step) / kSpeedOfLight_m_s - (align_ ? 0 : cable_s_[ant]);
}

void BeamTracker::Reference::prepare(double begin_s, double end_s) {
  tracker_.cover(tracker_.reference_segments_, begin_s, end_s);
}

double BeamTracker::Reference::delay_s(std::size_t ant, double t_s) const {
  const Vec3 step = interpolate(tracker_.reference_segments_, tracker_.beams_.size(), t_s);
  return dot(tracker_.offset_m_[ant], step) / kSpeedOfLight_m_s - tracker_.cable_s_[ant];
}

}  // namespace apsyn
