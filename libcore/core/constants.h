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

}  // namespace apsyn
