// SPDX-License-Identifier: GPL-3.0-or-later
// Directions and times through casacore measures. Directions are apparent (precession, nutation, annual and
// diurnal aberration, Earth rotation; no refraction), as a plane wave meets the array. When casacore has no
// Earth-orientation table, UT1 = UTC and no polar motion (up to 0.9 s, 13 arcsec of rotation): a message says
// so once, a warning where it matters (set_finest_fringe). Within 3e-9 rad of IAU 2006/2000A (ERFA) for 2000
// to 2025 with UT1 = UTC. A new instant costs 0.2 ms, another direction at the same one 3 us: loop over time
// outside. Thread-safe.
#pragma once

#include <memory>

#include "libcore/array/array_layout.h"
#include "libcore/base/time.h"
#include "libcore/base/units.h"

namespace apsyn {

/// The finest fringe that directions are for, as far as known: what moves the sky by less than a fiftieth of
/// it is no warning. 0, until it is told, warns of everything.
void set_finest_fringe(double rad);

/// Chooses, once, whether casacore's Earth-orientation tables are used, as told above. For others who convert
/// by them, before they do and with casacore_measures_mutex() held.
void check_earth_orientation(double mjd);

class SkyFrame {
 public:
  explicit SkyFrame(const Site& site);
  ~SkyFrame();
  /// Unit vector east, north, up towards a J2000 direction.
  Vec3 enu_from_direction(const UtcTime& time, const SkyDirection& direction) const;
  /// Rotation J2000 -> local for many sources at one instant would miss aberration; so one call per
  /// direction.
  SkyDirection direction_from_enu(const UtcTime& time, const Vec3& unit) const;
  SkyDirection zenith(const UtcTime& time) const;
  /// J2000 for an apparent direction of that date as the Earth's centre has it (casacore's APP).
  SkyDirection direction_from_apparent(const UtcTime& time, const SkyDirection& apparent) const;
  /// The other way round.
  SkyDirection apparent_from_direction(const UtcTime& time, const SkyDirection& direction) const;
  /// Rows u, v, w: uvw = R enu_offset. w points at the apparent direction, v to J2000 north there, u to the
  /// east.
  Mat3 uvw_rotation(const UtcTime& time, const SkyDirection& phase_centre) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace apsyn
