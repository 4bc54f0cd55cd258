// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/measures/coordinates.h"

#include <casacore/casa/Quanta/Euler.h>
#include <casacore/casa/Quanta/RotMatrix.h>
#include <casacore/casa/System/AipsrcValue.h>
#include <casacore/measures/Measures/MCDirection.h>
#include <casacore/measures/Measures/MDirection.h>
#include <casacore/measures/Measures/MEpoch.h>
#include <casacore/measures/Measures/MPosition.h>
#include <casacore/measures/Measures/MeasConvert.h>
#include <casacore/measures/Measures/MeasFrame.h>
#include <casacore/measures/Measures/MeasIERS.h>
#include <casacore/measures/Measures/MeasTable.h>
#include <casacore/measures/Measures/Nutation.h>

#include <cmath>
#include <exception>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/measures/casacore_log.h"

namespace apsyn {
namespace {

void set_rc(const std::string& keyword, bool value) {
  casacore::AipsrcValue<casacore::Bool>::set(
      casacore::AipsrcValue<casacore::Bool>::registerRC(keyword, value), value);
}
void set_rc(const std::string& keyword, double value) {
  casacore::AipsrcValue<casacore::Double>::set(
      casacore::AipsrcValue<casacore::Double>::registerRC(keyword, value), value);
}

casacore::MDirection::Convert conversion(casacore::MDirection::Types from, casacore::MDirection::Types to,
                                         const casacore::MeasFrame& frame) {
  return casacore::MDirection::Convert(
      casacore::MDirection(casacore::MVDirection(), casacore::MDirection::Ref(from, frame)),
      casacore::MDirection::Ref(to, frame));
}

/// At a time that is set later; the place does not matter for geocentric directions.
casacore::MeasFrame some_frame() {
  return casacore::MeasFrame(
      casacore::MEpoch(casacore::MVEpoch(51544.5), casacore::MEpoch::UTC),
      casacore::MPosition(casacore::MVPosition(6378137.0, 0, 0), casacore::MPosition::ITRF));
}

/// The models that SkyFrame promises, whatever a user's .casarc says. casacore reads each setting at its
/// first use and forgets what was set before; so it is made to use them once.
void choose_models() {
  static bool chosen = false;
  if (chosen) return;
  CasacoreSilence silence;  // about missing or ageing tables: check_earth_orientation tells what matters
  casacore::MeasTable::useIAU2000();
  casacore::MeasTable::useIAU2000A();
  set_rc("measures.iau2000.b_use", true);
  set_rc("measures.iau2000.b_use2000a", true);
  const casacore::MeasFrame frame = some_frame();
  conversion(casacore::MDirection::ICRS, casacore::MDirection::APP, frame)();
  for (const char* model : {"precession", "nutation", "aberration", "solarpos"}) {
    set_rc(fmt::format("measures.{}.d_interval", model), 0.0);
    set_rc(fmt::format("measures.{}.b_usejpl", model), false);
  }
  set_rc("measures.nutation.b_useiers", false);
  chosen = true;
}

double finest_fringe = 0;

}  // namespace

// Without usable tables casacore is told not to look for them, so that it neither searches nor complains at
// every instant.
void check_earth_orientation(double mjd) {
  static bool fallback = false;
  if (fallback) return;
  bool found = false;
  try {
    CasacoreSilence silence;
    double ut1_utc_s = 0;
    found = casacore::MeasIERS::get(ut1_utc_s, casacore::MeasIERS::MEASURED, casacore::MeasIERS::dUT1, mjd);
  } catch (const std::exception&) {
  }
  if (found) return;
  fallback = true;
  set_rc("measures.measiers.b_notable", true);
  constexpr double kMax_rad = 0.9 * 15 * kRadPerDeg / 3600;
  log_message(
      kMax_rad > finest_fringe / 50 ? LogLevel::warning : LogLevel::verbose,
      fmt::format(
          "no Earth-orientation table of casacore covers MJD {:.0f}: taking UT1 = UTC and no polar motion "
          "(up to 0.9 s, 13 arcsec of rotation): install the tables IERSeop97 and IERSpredict in casacore's "
          "data folder",
          mjd));
}

namespace {

casacore::MVDirection celestial(const SkyDirection& direction) {
  return casacore::MVDirection(direction.ra_rad, direction.dec_rad);
}

Vec3 cross(const Vec3& a, const Vec3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
Vec3 normalised(const Vec3& a) {
  const double r = std::sqrt(dot(a, a));
  return {a[0] / r, a[1] / r, a[2] / r};
}

/// First order in v/c; the second is below 3e-12 for any site on Earth.
Vec3 aberrated(const Vec3& direction, const Vec3& beta) {
  return normalised(direction + beta);
}

/// Greenwich apparent sidereal time: Earth rotation angle plus the precession and nutation in right ascension
/// of IAU 2006/2000A (IERS Conventions 2010, equations 5.15, 5.31 and 5.32). casacore 3.5's own is 2.5e-7 rad
/// off in 2024 and drifts.
double apparent_sidereal_time_rad(const UtcTime& utc) {
  const double utc_mjd = utc.mjd_days();
  const double ut1_utc_s = casacore::MeasTable::dUT1(utc_mjd);
  const double tt_utc_s = casacore::MeasTable::dUTC(utc_mjd) + casacore::MeasTable::dTAI(utc_mjd);
  const double ut1_fraction =
      static_cast<double>(utc.picoseconds) / 86400e12 + ut1_utc_s / kSecondsPerDay - 0.5;
  const double ut1_days = static_cast<double>(utc.mjd - 51544) + ut1_fraction;  // since J2000
  const double rotation_turns = ut1_fraction + 0.7790572732640 + 0.00273781191135448 * ut1_days;
  const double tt_mjd = utc_mjd + tt_utc_s / kSecondsPerDay;
  const double t = (tt_mjd - 51544.5) / 36525.0;
  const double precession_arcsec =
      0.014506 + t * (4612.156534 + t * (1.3915817 + t * (-4.4e-7 + t * (-2.9956e-5 - t * 3.68e-8))));
  const casacore::Euler nutation = casacore::Nutation(casacore::Nutation::IAU2000A)(tt_mjd);
  const double node_rad = (125.04455501 - 1934.13626197 * t) * kRadPerDeg;
  const double complementary_arcsec = 0.00264096 * std::sin(node_rad) + 0.00006352 * std::sin(2 * node_rad);
  return kTwoPi * std::fmod(rotation_turns, 1.0) +
         (precession_arcsec + complementary_arcsec) * kRadPerArcsec - nutation(1) * std::cos(nutation(0));
}

}  // namespace

struct SkyFrame::State {
  Mat3 enu_from_itrf;
  Vec3 beta;  ///< the site's velocity by Earth rotation over c, ITRF axes
  casacore::MeasFrame frame;
  casacore::MDirection::Convert to_apparent, from_apparent;  ///< geocentric, true equator and equinox
  casacore::RotMatrix apparent_from_itrf;
  UtcTime time{-1, 0};  ///< of all the above

  explicit State(const Site& site) : enu_from_itrf(enu_rotation(site)), frame(some_frame()) {
    const Vec3 itrf_m = geocentric_from_site(site);
    beta = {-kEarthRotation_rad_s / kSpeedOfLight_m_s * itrf_m[1],
            kEarthRotation_rad_s / kSpeedOfLight_m_s * itrf_m[0], 0};
    to_apparent = conversion(casacore::MDirection::ICRS, casacore::MDirection::APP, frame);
    from_apparent = conversion(casacore::MDirection::APP, casacore::MDirection::ICRS, frame);
  }

  void set_time(const UtcTime& wanted) {
    if (wanted == time) return;
    check_earth_orientation(static_cast<double>(wanted.mjd));
    const double day_fraction = static_cast<double>(wanted.picoseconds) / 86400e12;
    frame.resetEpoch(casacore::MVEpoch(static_cast<double>(wanted.mjd), day_fraction));
    casacore::Euler rotation = casacore::MeasTable::polarMotion(wanted.mjd_days());
    rotation(2) = apparent_sidereal_time_rad(wanted);
    apparent_from_itrf = casacore::RotMatrix(rotation);
    time = wanted;
  }

  // casacore 3.5 applies diurnal aberration towards the zenith (2e-6 rad wrong): so it ends at the geocentric
  // apparent place, and the site's velocity is added here.
  Vec3 apparent_enu(const casacore::MVDirection& direction) {
    casacore::MVPosition place = to_apparent(direction).getValue();
    place *= apparent_from_itrf;  // by the transposed matrix
    return multiply(enu_from_itrf, aberrated({place(0), place(1), place(2)}, beta));
  }

  SkyDirection from_apparent_place(const casacore::MVDirection& place) {
    const casacore::MVDirection icrs = from_apparent(place).getValue();
    double ra_rad = icrs.getLong();
    if (ra_rad < 0) ra_rad += kTwoPi;
    return {ra_rad, icrs.getLat()};
  }
};

namespace {

/// Runs `work` alone, with casacore's exceptions turned into ours.
template <class Work>
auto with_measures(Work work) {
  const std::lock_guard lock(casacore_measures_mutex());
  try {
    return work();
  } catch (const std::exception& error) {
    throw measures_failure(error);
  }
}

}  // namespace

void set_finest_fringe(double rad) {
  finest_fringe = rad;
}

SkyFrame::SkyFrame(const Site& site) {
  adopt_casacore_log();
  state_ = with_measures([&] {
    choose_models();
    return std::make_unique<State>(site);
  });
}
SkyFrame::~SkyFrame() = default;

Vec3 SkyFrame::enu_from_direction(const UtcTime& time, const SkyDirection& direction) const {
  return with_measures([&] {
    state_->set_time(time);
    return state_->apparent_enu(celestial(direction));
  });
}

SkyDirection SkyFrame::direction_from_enu(const UtcTime& time, const Vec3& unit) const {
  return with_measures([&] {
    state_->set_time(time);
    const Mat3& r = state_->enu_from_itrf;
    Vec3 itrf;
    for (int i = 0; i < 3; ++i) itrf[i] = r[0][i] * unit[0] + r[1][i] * unit[1] + r[2][i] * unit[2];
    const Vec3 backwards{-state_->beta[0], -state_->beta[1], -state_->beta[2]};
    const Vec3 geocentric = aberrated(itrf, backwards);
    const casacore::MVPosition place =
        state_->apparent_from_itrf * casacore::MVPosition(geocentric[0], geocentric[1], geocentric[2]);
    return state_->from_apparent_place(casacore::MVDirection(place));
  });
}

SkyDirection SkyFrame::direction_from_apparent(const UtcTime& time, const SkyDirection& apparent) const {
  return with_measures([&] {
    state_->set_time(time);
    return state_->from_apparent_place(celestial(apparent));
  });
}

SkyDirection SkyFrame::apparent_from_direction(const UtcTime& time, const SkyDirection& direction) const {
  return with_measures([&] {
    state_->set_time(time);
    const casacore::MVDirection place = state_->to_apparent(celestial(direction)).getValue();
    return SkyDirection{place.getLong() < 0 ? place.getLong() + kTwoPi : place.getLong(), place.getLat()};
  });
}

SkyDirection SkyFrame::zenith(const UtcTime& time) const {
  return direction_from_enu(time, {0, 0, 1});
}

Mat3 SkyFrame::uvw_rotation(const UtcTime& time, const SkyDirection& centre) const {
  // North at the centre is the apparent displacement of two directions a little north and south of it, as
  // vectors, so that it holds at the poles too. Their distance keeps the rounding below 1e-12 and the
  // curvature of aberration below 1e-10.
  constexpr double kStep_rad = 1e-3;
  const double sin_ra = std::sin(centre.ra_rad), cos_ra = std::cos(centre.ra_rad);
  const double sin_dec = std::sin(centre.dec_rad), cos_dec = std::cos(centre.dec_rad);
  const Vec3 s{cos_dec * cos_ra, cos_dec * sin_ra, sin_dec}, n{-sin_dec * cos_ra, -sin_dec * sin_ra, cos_dec};
  return with_measures([&] {
    state_->set_time(time);
    const auto displaced = [&](double step) {
      return state_->apparent_enu(casacore::MVDirection(
          casacore::MVPosition(s[0] + step * n[0], s[1] + step * n[1], s[2] + step * n[2])));
    };
    const Vec3 w = state_->apparent_enu(celestial(centre));
    const Vec3 u = normalised(cross(displaced(kStep_rad) - displaced(-kStep_rad), w));
    return Mat3{u, cross(w, u), w};
  });
}

}  // namespace apsyn
