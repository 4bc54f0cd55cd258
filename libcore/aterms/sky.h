// SPDX-License-Identifier: GPL-3.0-or-later
// Where the pixels of an A-term grid stand above an array. For libcore/aterms only.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/base/time.h"
#include "libcore/base/view.h"
#include "libcore/beams/station.h"
#include "libcore/measures/coordinates.h"
#include "libcore/sky/aterms.h"

namespace apsyn {

/// Unit vectors (east, north, up): the direction of a pixel and the sky's axes there, J2000 north and east.
struct LocalSky {
  Vec3 direction, north, east;
};

/// [side * side], rows of x. Pixels beyond the horizon of the projection stand at its nearest point. Within
/// 1e-8 rad of SkyFrame::enu_from_direction, at a cost of six of its calls.
std::vector<LocalSky> local_sky(const SkyFrame& frame, const UtcTime& time, const AtermGrid& grid);

/// The same for single directions, as grids of one pixel have them.
std::vector<LocalSky> local_sky(const SkyFrame& frame, const UtcTime& time,
                                std::span<const SkyDirection> directions);

/// What directions are at a time, of which all channels of a slot make use.
template <class T>
class KeptDirections {
 public:
  /// `make` gives a vector of T, [direction]; it is called when time or directions are others than before.
  template <class Make>
  const std::vector<T>& at(double time_mjd_s, std::span<const SkyDirection> directions, const Make& make) {
    if (time_mjd_s != time_mjd_s_ ||
        !std::equal(directions.begin(), directions.end(), from_.begin(), from_.end())) {
      kept_ = make();
      time_mjd_s_ = time_mjd_s;
      from_.assign(directions.begin(), directions.end());
    }
    return kept_;
  }

 private:
  double time_mjd_s_ = NAN;
  std::vector<SkyDirection> from_;
  std::vector<T> kept_;
};

/// Apparent directions above a site at one time in ITRF, and north there: towards the apparent place of the
/// pole of J2000.
class StationSky {
 public:
  StationSky(const SkyFrame& frame, const Site& site, const UtcTime& time);
  Vec3 direction(const SkyDirection& j2000) const;
  SkyVector at(const SkyDirection& j2000) const;
  /// [y][x], as local_sky() has them.
  Buffer<SkyVector, 2> on_grid(const AtermGrid& grid) const;

 private:
  SkyVector with_north(const Vec3& direction) const;
  const SkyFrame& frame_;
  UtcTime time_;
  Mat3 itrf_from_enu_;
  Vec3 pole_;
};

}  // namespace apsyn
