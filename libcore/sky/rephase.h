// SPDX-License-Identifier: GPL-3.0-or-later
// Moving visibilities from one phase centre to another, exactly: with baseline b and unit vectors s_from,
// s_to V_to = V_from exp(-2 pi i b . (s_to - s_from) / wavelength), and uvw turns with the frame.
#pragma once

#include <cmath>

#include "libcore/array/array_layout.h"
#include "libcore/sky/projection.h"

namespace apsyn {

struct Rephasing {
  Mat3 rotation;  ///< uvw_to = rotation uvw_from
  Vec3 path;      ///< path_m = path . uvw_from; V_to = V_from exp(-2 pi i path_m / wavelength)
};

/// Rows u (east), v (north), w (towards the direction) in the frame of right ascension and declination.
inline Mat3 uvw_axes(const SkyDirection& centre) {
  const double sin_ra = std::sin(centre.ra_rad), cos_ra = std::cos(centre.ra_rad);
  const double sin_dec = std::sin(centre.dec_rad), cos_dec = std::cos(centre.dec_rad);
  return {{{-sin_ra, cos_ra, 0},
           {-sin_dec * cos_ra, -sin_dec * sin_ra, cos_dec},
           {cos_dec * cos_ra, cos_dec * sin_ra, sin_dec}}};
}

inline Rephasing make_rephasing(const SkyDirection& from, const SkyDirection& to) {
  const Mat3 axes_from = uvw_axes(from), axes_to = uvw_axes(to);
  Rephasing result{};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) result.rotation[i][j] = dot(axes_to[i], axes_from[j]);
  const DirectionCosines at = project(from, to);
  // n - 1 without cancellation for small shifts.
  const double n_1 = at.n > 0 ? -(at.l * at.l + at.m * at.m) / (1 + at.n) : at.n - 1;
  result.path = {at.l, at.m, n_1};
  return result;
}

}  // namespace apsyn
