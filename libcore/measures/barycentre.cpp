// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/measures/barycentre.h"

#include <casacore/casa/Arrays/Vector.h>
#include <casacore/casa/Quanta/MVEpoch.h>
#include <casacore/measures/Measures/MeasIERS.h>
#include <casacore/measures/Measures/MeasJPL.h>
#include <erfa.h>

#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/measures/casacore_log.h"
#include "libcore/measures/coordinates.h"

namespace apsyn {
namespace {

constexpr double kMjd0 = 2400000.5;  // Julian date of MJD 0
constexpr double kAu_m = 149597870700.0;
constexpr double kDe405Au_m = 149597870691.0;
constexpr double kTtMinusTai_s = 32.184;
/// G M_sun / c^3 (IAU 2015, resolution B3).
constexpr double kSunTime_s = 1.3271244e20 / (kSpeedOfLight_m_s * kSpeedOfLight_m_s * kSpeedOfLight_m_s);

struct Body {
  Vec3 position_m{}, velocity_m_s{};
};
struct EarthAndSun {
  Body earth;    ///< from the barycentre
  Vec3 sun_m{};  ///< as well
};

EarthAndSun by_epv00(const DayTime& tdb) {
  double heliocentric[2][3], barycentric[2][3];
  eraEpv00(kMjd0 + static_cast<double>(tdb.mjd), tdb.s / kSecondsPerDay, heliocentric, barycentric);
  EarthAndSun bodies;
  for (std::size_t i = 0; i < 3; ++i) {
    bodies.earth.position_m[i] = barycentric[0][i] * kAu_m;
    bodies.earth.velocity_m_s[i] = barycentric[1][i] * kAu_m / kSecondsPerDay;
    bodies.sun_m[i] = (barycentric[0][i] - heliocentric[0][i]) * kAu_m;
  }
  return bodies;
}

/// AU and AU a day; false without a table that covers the day.
bool read_de405(casacore::MeasJPL::Types body, const DayTime& tdb, casacore::Vector<double>& values) {
  const std::lock_guard lock(casacore_measures_mutex());
  adopt_casacore_log();
  try {
    CasacoreSilence silence;
    values.resize(6);
    return casacore::MeasJPL::get(values, casacore::MeasJPL::DE405, body,
                                  casacore::MVEpoch(static_cast<double>(tdb.mjd), tdb.s / kSecondsPerDay));
  } catch (const std::exception&) {
    return false;
  }
}

EarthAndSun by_de405(const DayTime& tdb) {
  casacore::Vector<double> earth, sun;
  if (!read_de405(casacore::MeasJPL::EARTH, tdb, earth) || !read_de405(casacore::MeasJPL::SUN, tdb, sun))
    throw FailureError("casacore's table DE405 does not cover MJD {}", tdb.mjd);
  EarthAndSun bodies;
  for (unsigned i = 0; i < 3; ++i) {
    bodies.earth.position_m[i] = earth[i] * kDe405Au_m;
    bodies.earth.velocity_m_s[i] = earth[i + 3] * kDe405Au_m / kSecondsPerDay;
    bodies.sun_m[i] = sun[i] * kDe405Au_m;
  }
  return bodies;
}

/// Of the observatory about the Earth's centre, in directions of the ICRS.
Body observatory(const Vec3& itrf_m, const DayTime& tt, const DayTime& ut1, const EarthOrientation& earth) {
  double terrestrial[3][3];  // terrestrial = m celestial
  eraC2t06a(kMjd0 + static_cast<double>(tt.mjd), tt.s / kSecondsPerDay, kMjd0 + static_cast<double>(ut1.mjd),
            ut1.s / kSecondsPerDay, earth.pole_x_rad, earth.pole_y_rad, terrestrial);
  const Vec3 speed{-kEarthRotation_rad_s * itrf_m[1], kEarthRotation_rad_s * itrf_m[0], 0};
  Body body;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t k = 0; k < 3; ++k) {
      body.position_m[i] += terrestrial[k][i] * itrf_m[k];
      body.velocity_m_s[i] += terrestrial[k][i] * speed[k];
    }
  return body;
}

double leap_seconds(std::int64_t mjd) {
  int year = 0, month = 0, day = 0;
  double fraction = 0, seconds = 0;
  if (eraJd2cal(kMjd0, static_cast<double>(mjd), &year, &month, &day, &fraction) != 0 ||
      eraDat(year, month, day, 0, &seconds) < 0)
    throw DataError("MJD {}: no day of UTC", mjd);
  return seconds;
}

DayTime later(const DayTime& time, double s) {
  return {time.mjd, time.s + s};
}

}  // namespace

Ephemeris best_ephemeris(double mjd) {
  casacore::Vector<double> values;
  for (const std::int64_t day : {0, 2})
    if (!read_de405(casacore::MeasJPL::EARTH, {static_cast<std::int64_t>(mjd) + day, 0}, values))
      return Ephemeris::epv00;
  return Ephemeris::de405;
}

EarthOrientation earth_orientation(double mjd) {
  const std::lock_guard lock(casacore_measures_mutex());
  adopt_casacore_log();
  check_earth_orientation(mjd);
  EarthOrientation earth;
  try {
    CasacoreSilence silence;
    double value = 0;
    const auto read = [&](casacore::MeasIERS::Types what, double& to, double unit) {
      if (casacore::MeasIERS::get(value, casacore::MeasIERS::MEASURED, what, mjd)) to = value * unit;
    };
    read(casacore::MeasIERS::dUT1, earth.ut1_utc_s, 1);
    read(casacore::MeasIERS::X, earth.pole_x_rad, kRadPerArcsec);
    read(casacore::MeasIERS::Y, earth.pole_y_rad, kRadPerArcsec);
  } catch (const std::exception&) {
    return {};
  }
  return earth;
}

DayTime tai_from_utc(const UtcTime& utc) {
  return {utc.mjd, static_cast<double>(utc.picoseconds) * 1e-12 + leap_seconds(utc.mjd)};
}

Barycentre::Barycentre(const Vec3& itrf_m, const PulsarTiming& pulsar, Ephemeris ephemeris)
    : itrf_m_(itrf_m), pulsar_(pulsar), ephemeris_(ephemeris) {}

Vec3 Barycentre::direction(const DayTime& tdb) const {
  const double sin_ra = std::sin(pulsar_.position.ra_rad), cos_ra = std::cos(pulsar_.position.ra_rad);
  const double sin_dec = std::sin(pulsar_.position.dec_rad), cos_dec = std::cos(pulsar_.position.dec_rad);
  const auto since_s = static_cast<double>(seconds_since(pulsar_.position_epoch, tdb));
  const Vec3 east{-sin_ra, cos_ra, 0}, north{-sin_dec * cos_ra, -sin_dec * sin_ra, cos_dec};
  const Vec3 moved = Vec3{cos_dec * cos_ra, cos_dec * sin_ra, sin_dec} +
                     scaled(east, pulsar_.motion_ra_rad_s * since_s) +
                     scaled(north, pulsar_.motion_dec_rad_s * since_s);
  return scaled(moved, 1 / std::sqrt(dot(moved, moved)));
}

BarycentricDelay Barycentre::delay(const DayTime& tai, const EarthOrientation& earth) const {
  const DayTime tt = later(tai, kTtMinusTai_s);
  const DayTime ut1 = later(tai, earth.ut1_utc_s - leap_seconds(tai.mjd));
  const double axis_m = std::hypot(itrf_m_[0], itrf_m_[1]);
  const double longitude = std::atan2(itrf_m_[1], itrf_m_[0]);
  BarycentricDelay delay;
  const double tdb_minus_tt_s = eraDtdb(kMjd0 + static_cast<double>(tt.mjd), tt.s / kSecondsPerDay,
                                        ut1.s / kSecondsPerDay, longitude, axis_m * 1e-3, itrf_m_[2] * 1e-3);
  delay.tdb_minus_tai_s = kTtMinusTai_s + tdb_minus_tt_s;
  const DayTime tdb = later(tt, tdb_minus_tt_s);

  const EarthAndSun bodies = ephemeris_ == Ephemeris::de405 ? by_de405(tdb) : by_epv00(tdb);
  const Body place = observatory(itrf_m_, tt, ut1, earth);
  const Vec3 r = bodies.earth.position_m + place.position_m, n = direction(tdb);
  const double along_m = dot(r, n);
  const double curvature_m = (dot(r, r) - along_m * along_m) * std::tan(pulsar_.parallax_rad) / (2 * kAu_m);
  delay.roemer_s = (along_m - curvature_m) / kSpeedOfLight_m_s;
  delay.speed = dot(bodies.earth.velocity_m_s + place.velocity_m_s, n) / kSpeedOfLight_m_s;

  const Vec3 to_sun = bodies.sun_m - r;
  const double distance_m = std::sqrt(dot(to_sun, to_sun));
  // Behind the Sun nothing is seen, and the logarithm stays finite.
  constexpr double kSunRadius_m = 6.957e8;
  const double least = kSunRadius_m * kSunRadius_m / (2 * distance_m);
  delay.shapiro_s = -2 * kSunTime_s * std::log(std::max(distance_m - dot(to_sun, n), least) / kAu_m);
  return delay;
}

DayTime Barycentre::arrival(const DayTime& tai, const BarycentricDelay& delay) const {
  return later(tai, delay.tdb_minus_tai_s + delay.roemer_s - delay.shapiro_s);
}

}  // namespace apsyn
