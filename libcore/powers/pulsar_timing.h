// SPDX-License-Identifier: GPL-3.0-or-later
// What is known of a pulsar's rotation, position and dispersion: the plain part of a TEMPO2 par file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libcore/base/units.h"

namespace apsyn {

/// A moment of a time scale that its user names: modified Julian day, and seconds of it, which may lie
/// outside of the day. Apart, they are good to 1e-11 s.
struct DayTime {
  std::int64_t mjd = 0;
  double s = 0;
};

/// later - earlier in seconds.
inline long double seconds_since(const DayTime& earlier, const DayTime& later) {
  return static_cast<long double>(later.mjd - earlier.mjd) * 86400.0L +
         (static_cast<long double>(later.s) - static_cast<long double>(earlier.s));
}

/// Times are TDB at the solar system's barycentre. The pulsar's phase in turns, t seconds after `epoch`, is
///
///   sum over k of frequency[k] t^(k+1) / (k+1)!
struct PulsarTiming {
  std::string name = "unknown";
  SkyDirection position;       ///< ICRS, at position_epoch
  double motion_ra_rad_s = 0;  ///< along right ascension: its rate times cos(declination)
  double motion_dec_rad_s = 0, parallax_rad = 0;
  DayTime position_epoch, epoch, dm_epoch;
  std::vector<long double> frequency;  ///< Hz, Hz/s, Hz/s^2 ...
  std::vector<double> dm_pc_cm3;       ///< at dm_epoch, its derivatives by years
  std::optional<DayTime> reference;    ///< TZRMJD: a pulse of phase 0 arrives, UTC at reference_site
  std::string reference_site;          ///< a telescope's name or code; "@": TDB at the barycentre
  double reference_hz = 0;             ///< 0: infinite frequency
  std::string ephemeris, clock;        ///< EPHEM and CLK, as they are written
};

}  // namespace apsyn
