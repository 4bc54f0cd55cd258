// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/epic-image/frame.h"

#include <algorithm>
#include <utility>

#include "libcore/array/array_layout.h"
#include "libcore/base/constants.h"
#include "libcore/base/time.h"

namespace apsyn {

AccumulationFrame::AccumulationFrame(const VoltageHeader& header, bool aligned,
                                     std::optional<SkyDirection> followed, bool one_centre,
                                     std::vector<BeamDirection> directions)
    : layout_(header.layout),
      tracked_(aligned && followed ? followed : header.phase_centre),
      aligned_(aligned),
      one_centre_(one_centre || followed),
      directions_(std::move(directions)),
      sky_(*header.layout.site),
      centre_(followed) {}

EpicGeometry AccumulationFrame::at(const UtcTime& middle) {
  inherited_ = centre_ && one_centre_;
  if (!inherited_) centre_ = sky_.zenith(middle);
  EpicGeometry geometry;
  geometry.axes = sky_.uvw_rotation(middle, *centre_);
  const Vec3 removed =
      tracked_ ? sky_.enu_from_direction(middle, *tracked_) : (aligned_ ? Vec3{0, 0, 1} : Vec3{0, 0, 0});
  for (const Antenna& antenna : layout_.antennas) {
    geometry.enu_m.push_back(antenna.enu_m);
    geometry.delay_s.push_back(dot(antenna.enu_m, removed) / kSpeedOfLight_m_s +
                               (aligned_ ? 0 : antenna.cable_delay_s));
  }
  for (const BeamDirection& direction : directions_)
    geometry.directions.push_back(direction.sky ? sky_.enu_from_direction(middle, *direction.sky)
                                                : direction.enu);
  return geometry;
}

bool AccumulationFrame::move_to(const UtcTime& middle) {
  if (inherited_ || tracked_ ||
      std::any_of(directions_.begin(), directions_.end(), [](const auto& d) { return d.sky.has_value(); }))
    return false;
  centre_ = sky_.zenith(middle);
  return true;
}

}  // namespace apsyn
