// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/io/delay_tracker.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "libcore/core/constants.h"

namespace apsyn {

namespace {

constexpr double kSegment_s = 10;

double length(const Vec3& v) {
  return std::sqrt(dot(v, v));
}

Vec3 reference_position(const ArrayLayout& layout) {
  Vec3 mean{};
  for (const Antenna& antenna : layout.antennas)
    for (std::size_t axis = 0; axis < 3; ++axis)
      mean[axis] += antenna.enu_m[axis] / static_cast<double>(layout.antennas.size());
  const auto nearest = std::min_element(
      layout.antennas.begin(), layout.antennas.end(),
      [&](const Antenna& a, const Antenna& b) { return length(a.enu_m - mean) < length(b.enu_m - mean); });
  return nearest == layout.antennas.end() ? Vec3{} : nearest->enu_m;
}

/// Coefficients of the cubic through values at x = 0, 1/3, 2/3, 1.
std::array<double, 4> cubic_through(const std::array<double, 4>& y) {
  return {y[0], (-11 * y[0] + 18 * y[1] - 9 * y[2] + 2 * y[3]) / 2,
          9 * (2 * y[0] - 5 * y[1] + 4 * y[2] - y[3]) / 2, 9 * (-y[0] + 3 * y[1] - 3 * y[2] + y[3]) / 2};
}

}  // namespace

DelayTracker::DelayTracker(const ArrayLayout& layout, const UtcTime& start, const DelayTarget& target)
    : frame_(layout.site.value()), start_(start), target_(target) {
  const Vec3 reference = reference_position(layout);
  // without a centre the delays are those of the zenith, unless the stream is tracked and stays as it is
  const double largest_step = target.centre && target.applied ? 2 : 1;
  for (const Antenna& antenna : layout.antennas) {
    offset_m_.push_back(antenna.enu_m - reference);
    cable_s_.push_back(antenna.cable_delay_s);
    max_delay_s_ = std::max(max_delay_s_, length(offset_m_.back()) * largest_step / kSpeedOfLight_m_s +
                                              std::abs(antenna.cable_delay_s));
  }
}

bool DelayTracker::nothing_to_do() const {
  if (target_.centre) return false;
  for (std::size_t ant = 0; ant < offset_m_.size(); ++ant) {
    const double path_m = target_.applied ? 0 : offset_m_[ant][2] - offset_m_[0][2];
    if (path_m != 0 || cable_s_[ant] != cable_s_[0]) return false;
  }
  return true;
}

DelayTracker::Segment DelayTracker::make_segment(std::int64_t index) const {
  std::array<Vec3, 4> step;
  for (std::size_t node = 0; node < 4; ++node) {
    const double t_s = (static_cast<double>(index) + static_cast<double>(node) / 3) * kSegment_s;
    const UtcTime time = add_picoseconds(start_, static_cast<__int128>(std::llround(t_s * 1e12)));
    if (target_.centre)
      step[node] = frame_.enu_from_direction(time, *target_.centre);
    else
      step[node] = target_.applied ? Vec3{} : Vec3{0, 0, 1};
    if (target_.centre && target_.applied)
      step[node] = step[node] - frame_.enu_from_direction(time, *target_.applied);
  }
  Segment segment;
  segment.index = index;
  for (std::size_t ant = 0; ant < offset_m_.size(); ++ant) {
    std::array<double, 4> delay_s;
    for (std::size_t node = 0; node < 4; ++node)
      delay_s[node] = dot(offset_m_[ant], step[node]) / kSpeedOfLight_m_s - cable_s_[ant];
    const auto coefficients = cubic_through(delay_s);
    segment.delay_s.insert(segment.delay_s.end(), coefficients.begin(), coefficients.end());
  }
  return segment;
}

void DelayTracker::prepare(double begin_s, double end_s) {
  const auto first = static_cast<std::int64_t>(std::floor(begin_s / kSegment_s));
  const auto last = static_cast<std::int64_t>(std::floor(end_s / kSegment_s));
  while (!segments_.empty() && segments_.front().index < first) segments_.pop_front();
  if (segments_.empty()) segments_.push_back(make_segment(first));
  while (segments_.back().index < last) segments_.push_back(make_segment(segments_.back().index + 1));
}

double DelayTracker::delay_s(std::size_t ant, double t_s) const {
  const double position = t_s / kSegment_s;
  const auto index = std::clamp(static_cast<std::int64_t>(std::floor(position)), segments_.front().index,
                                segments_.back().index);
  const double x = position - static_cast<double>(index);
  const double* c =
      segments_[static_cast<std::size_t>(index - segments_.front().index)].delay_s.data() + 4 * ant;
  return c[0] + x * (c[1] + x * (c[2] + x * c[3]));
}

}  // namespace apsyn
