// SPDX-License-Identifier: GPL-3.0-or-later
// Where the antennas and the sky are at an image's middle.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/epic/epic.h"
#include "libcore/array/beam_table.h"
#include "libcore/base/constants.h"
#include "libcore/measures/coordinates.h"
#include "libcore/voltage/voltage.h"

namespace apsyn {

class AccumulationFrame {
 public:
  /// `aligned`: the F stage has taken out cables and, unless the stream was tracked, the zenith's delays.
  /// `one_centre`: all images have the centre of the first. `directions`: of light curves.
  AccumulationFrame(const VoltageHeader& header, bool aligned, bool one_centre,
                    std::vector<BeamDirection> directions)
      : layout_(header.layout),
        applied_(header.phase_centre),
        aligned_(aligned),
        one_centre_(one_centre),
        directions_(std::move(directions)),
        sky_(*header.layout.site) {}

  /// At the time of an image's middle; times rise.
  EpicGeometry at(const UtcTime& middle) {
    inherited_ = centre_ && one_centre_;
    if (!inherited_) centre_ = sky_.zenith(middle);
    EpicGeometry geometry;
    geometry.axes = sky_.uvw_rotation(middle, *centre_);
    const Vec3 removed =
        applied_ ? sky_.enu_from_direction(middle, *applied_) : (aligned_ ? Vec3{0, 0, 1} : Vec3{0, 0, 0});
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

  /// Takes what was made for the last image as that of another middle. An image that is fixed to the ground
  /// shows the zenith of whatever time; false, and nothing changed, when something in it follows the sky: the
  /// centre of the images before, a tracking that was undone, directions.
  bool move_to(const UtcTime& middle) {
    if (inherited_ || applied_ ||
        std::any_of(directions_.begin(), directions_.end(), [](const auto& d) { return d.sky.has_value(); }))
      return false;
    centre_ = sky_.zenith(middle);
    return true;
  }

  /// Of the last image.
  SkyDirection centre() const { return centre_.value(); }

 private:
  ArrayLayout layout_;
  std::optional<SkyDirection> applied_;
  bool aligned_, one_centre_;
  std::vector<BeamDirection> directions_;
  SkyFrame sky_;
  std::optional<SkyDirection> centre_;
  bool inherited_ = false;
};

}  // namespace apsyn
