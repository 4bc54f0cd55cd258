// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/measures/direction_track.h"

#include "libcore/base/constants.h"

namespace apsyn {

std::size_t reference_antenna(const ArrayLayout& layout) {
  Vec3 mean{};
  for (const Antenna& antenna : layout.antennas)
    for (std::size_t axis = 0; axis < 3; ++axis)
      mean[axis] += antenna.enu_m[axis] / static_cast<double>(layout.antennas.size());
  const auto nearest = std::min_element(
      layout.antennas.begin(), layout.antennas.end(),
      [&](const Antenna& a, const Antenna& b) { return length(a.enu_m - mean) < length(b.enu_m - mean); });
  return static_cast<std::size_t>(nearest - layout.antennas.begin());
}

double delay_bound_s(const ArrayLayout& layout, double largest_step) {
  const Vec3 origin = layout.antennas[reference_antenna(layout)].enu_m;
  double bound_s = 0;
  for (const Antenna& antenna : layout.antennas)
    bound_s = std::max(bound_s, length(antenna.enu_m - origin) * largest_step / kSpeedOfLight_m_s +
                                    std::abs(antenna.cable_delay_s));
  return bound_s;
}

UtcTime node_time(const UtcTime& start, std::int64_t index, std::size_t node) {
  const double t_s = (static_cast<double>(index) + static_cast<double>(node) / 3) * kSegment_s;
  return add_picoseconds(start, static_cast<__int128>(std::llround(t_s * 1e12)));
}

}  // namespace apsyn
