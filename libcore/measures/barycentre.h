// SPDX-License-Identifier: GPL-3.0-or-later
// When a wave that meets an observatory would have passed the solar system's barycentre:
//
//   TDB at the barycentre = UTC + (TDB - UTC) + r n / c - (|r|^2 - (r n)^2) px / (2 c au) - S
//   S = -2 (G M_sun / c^3) ln(|d| (1 - cos psi) / au)
//
// r is the observatory's barycentric position: the Earth's by JPL's DE405 where casacore has its table
// (Debian's casacore-data-jpl-de405), otherwise by ERFA's eraEpv00, and on it by IAU 2006/2000A with UT1 and
// polar motion (ERFA's eraC2t06a). n is the pulsar's direction, which moves; d goes from the observatory to
// the Sun, psi is the angle between d and n. TDB - TT is Fairhead & Bretagnon's series (eraDtdb), UTC - TAI
// ERFA's table of leap seconds. eraEpv00 is within 12 km (40 us) of DE405 for 1968 to 2047, 4.5 km in the
// mean.
#pragma once

#include <optional>

#include "libcore/array/array_layout.h"
#include "libcore/base/time.h"
#include "libcore/powers/pulsar_timing.h"

namespace apsyn {

enum class Ephemeris { epv00, de405 };

/// DE405 where casacore has a table of it for that day and the next.
Ephemeris best_ephemeris(double mjd);

struct EarthOrientation {
  double ut1_utc_s = 0, pole_x_rad = 0, pole_y_rad = 0;
};
/// By casacore's tables; zeros, and a message, without (see check_earth_orientation()): up to 1.4 us of
/// delay.
EarthOrientation earth_orientation(double mjd);

/// TAI of a UTC.
DayTime tai_from_utc(const UtcTime& utc);

struct BarycentricDelay {
  double tdb_minus_tai_s = 0;
  double roemer_s = 0;   ///< the wave passes the barycentre later; with the curvature that a parallax makes
  double shapiro_s = 0;  ///< it was late for that
  double speed = 0;      ///< of the observatory towards the source, over that of light
};

class Barycentre {
 public:
  /// An observatory at a place of the Earth (ITRF, metres; all 0: its centre), and a pulsar.
  Barycentre(const Vec3& itrf_m, const PulsarTiming& pulsar, Ephemeris ephemeris);
  BarycentricDelay delay(const DayTime& tai, const EarthOrientation& earth) const;
  /// TDB at the barycentre.
  DayTime arrival(const DayTime& tai, const BarycentricDelay& delay) const;

 private:
  Vec3 direction(const DayTime& tdb) const;

  Vec3 itrf_m_;
  PulsarTiming pulsar_;
  Ephemeris ephemeris_;
};

}  // namespace apsyn
