// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/measures/delay_tracker.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "libcore/base/constants.h"

namespace apsyn {

namespace {

/// Coefficients of the cubic through values at x = 0, 1/3, 2/3, 1.
std::array<double, 4> cubic_through(const std::array<double, 4>& y) {
  return {y[0], (-11 * y[0] + 18 * y[1] - 9 * y[2] + 2 * y[3]) / 2,
          9 * (2 * y[0] - 5 * y[1] + 4 * y[2] - y[3]) / 2, 9 * (-y[0] + 3 * y[1] - 3 * y[2] + y[3]) / 2};
}

}  // namespace

DelayTracker::DelayTracker(const ArrayLayout& layout, const UtcTime& start, const DelayTarget& target)
    : frame_(layout.site.value()), start_(start), target_(target) {
  if (layout.antennas.empty()) return;
  const Vec3 reference = layout.antennas[reference_antenna(layout)].enu_m;
  for (const Antenna& antenna : layout.antennas) {
    offset_m_.push_back(antenna.enu_m - reference);
    cable_s_.push_back(antenna.cable_delay_s);
  }
  // without a centre the delays are those of the zenith, unless the stream is tracked and stays as it is
  max_delay_s_ = delay_bound_s(layout, target.centre && target.applied ? 2 : 1);
}

bool DelayTracker::nothing_to_do() const {
  if (target_.centre) return false;
  for (std::size_t ant = 0; ant < offset_m_.size(); ++ant) {
    const double path_m = target_.applied ? 0 : offset_m_[ant][2] - offset_m_[0][2];
    if (path_m != 0 || cable_s_[ant] != cable_s_[0]) return false;
  }
  return true;
}

std::vector<double> DelayTracker::make_segment(std::int64_t index) const {
  std::array<Vec3, 4> step;
  for (std::size_t node = 0; node < 4; ++node) {
    const UtcTime time = node_time(start_, index, node);
    if (target_.centre)
      step[node] = frame_.enu_from_direction(time, *target_.centre);
    else
      step[node] = target_.applied ? Vec3{} : Vec3{0, 0, 1};
    if (target_.centre && target_.applied)
      step[node] = step[node] - frame_.enu_from_direction(time, *target_.applied);
  }
  std::vector<double> coefficients_s;
  for (std::size_t ant = 0; ant < offset_m_.size(); ++ant) {
    std::array<double, 4> delay_s;
    for (std::size_t node = 0; node < 4; ++node)
      delay_s[node] = dot(offset_m_[ant], step[node]) / kSpeedOfLight_m_s - cable_s_[ant];
    const auto coefficients = cubic_through(delay_s);
    coefficients_s.insert(coefficients_s.end(), coefficients.begin(), coefficients.end());
  }
  return coefficients_s;
}

void DelayTracker::prepare(double begin_s, double end_s) {
  segments_.cover(begin_s, end_s, [&](std::int64_t index) { return make_segment(index); });
}

double DelayTracker::delay_s(std::size_t ant, double t_s) const {
  double x = 0;
  const double* c = segments_.at(t_s, x).data() + 4 * ant;
  return c[0] + x * (c[1] + x * (c[2] + x * c[3]));
}

}  // namespace apsyn
