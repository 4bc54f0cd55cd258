// SPDX-License-Identifier: GPL-3.0-or-later
// The orthographic (SIN) projection of apsyn-conventions(7): direction cosines l east, m north, n towards the
// centre.
#pragma once

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/base/units.h"

namespace apsyn {

struct DirectionCosines {
  double l = 0, m = 0;
  double n = 1;  ///< <= 0: the direction is 90 deg or more from the centre and has no place in the projection
};

inline DirectionCosines project(const SkyDirection& centre, const SkyDirection& direction) {
  const double east = direction.ra_rad - centre.ra_rad;
  const double sin_dec = std::sin(direction.dec_rad), cos_dec = std::cos(direction.dec_rad);
  const double sin_dec0 = std::sin(centre.dec_rad), cos_dec0 = std::cos(centre.dec_rad);
  return {cos_dec * std::sin(east), sin_dec * cos_dec0 - cos_dec * sin_dec0 * std::cos(east),
          sin_dec * sin_dec0 + cos_dec * cos_dec0 * std::cos(east)};
}

/// The inverse, for l^2 + m^2 <= 1; 0 <= RA < 2 pi.
inline SkyDirection unproject(const SkyDirection& centre, double l, double m) {
  const double n = std::sqrt(std::max(0.0, 1.0 - l * l - m * m));
  const double sin_dec0 = std::sin(centre.dec_rad), cos_dec0 = std::cos(centre.dec_rad);
  const double towards_pole = m * cos_dec0 + n * sin_dec0;
  const double towards_equator = n * cos_dec0 - m * sin_dec0;
  double ra = std::fmod(centre.ra_rad + std::atan2(l, towards_equator), kTwoPi);
  if (ra < 0) ra += kTwoPi;
  if (ra >= kTwoPi) ra = 0;  // a tiny negative angle rounds up to the full turn
  return {ra, std::atan2(towards_pole, std::hypot(l, towards_equator))};
}

/// Angle between two directions, exact also when it is tiny.
inline double separation_rad(const SkyDirection& a, const SkyDirection& b) {
  const DirectionCosines c = project(a, b);
  return std::atan2(std::hypot(c.l, c.m), c.n);
}

}  // namespace apsyn
