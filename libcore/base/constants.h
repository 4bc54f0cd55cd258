// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <numbers>

namespace apsyn {

inline constexpr double kPi = std::numbers::pi;
inline constexpr double kTwoPi = 2.0 * std::numbers::pi;
inline constexpr double kSpeedOfLight_m_s = 299792458.0;
inline constexpr double kRadPerDeg = kPi / 180.0;
inline constexpr double kRadPerArcsec = kPi / 648000.0;
inline constexpr double kSecondsPerDay = 86400.0;
/// The Earth's rotation against the stars (IERS Conventions 2010, table 1.1: 2 pi 1.00273781191135448 a day).
inline constexpr double kEarthRotation_rad_s = 7.292115146706979e-5;
/// A signal at nu arrives kDispersion_s_hz2 DM / nu^2 seconds later than at infinite frequency, DM in
/// pc/cm^3: 1 / 2.41e-4 s MHz^2, the value that pulsar programs agree on (Manchester & Taylor 1972).
inline constexpr double kDispersion_s_hz2 = 1e12 / 2.41e-4;

}  // namespace apsyn
