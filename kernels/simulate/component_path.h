// SPDX-License-Identifier: GPL-3.0-or-later
// The part of the measurement equation (visibilities.h) that does not depend on frequency.
#pragma once

#include <cmath>

#include "libcore/array/array_layout.h"
#include "libcore/base/constants.h"
#include "libcore/sky/sky_model.h"

namespace apsyn::simulate {

/// One component on one baseline.
struct Path {
  double length_m = 0;     ///< (r_i - r_j) . (s - s_0)
  double gaussian_m2 = 0;  ///< the exponent of G is -gaussian_m2 / wavelength^2
  double tec_tecu = 0;     ///< of antenna i beyond that of antenna j
};

/// `towards`: rows u, v, w of the component's frame; `centre`: the unit vector of the phase centre.
inline Path path_of(const SkyComponent& component, const Mat3& towards, const Vec3& centre,
                    const Vec3& baseline_m) {
  Path path;
  path.length_m = dot(baseline_m, towards[2] - centre);
  if (component.major_rad > 0) {
    const double u = dot(baseline_m, towards[0]), v = dot(baseline_m, towards[1]);
    const double sin_pa = std::sin(component.position_angle_rad),
                 cos_pa = std::cos(component.position_angle_rad);
    const double along = component.major_rad * (u * sin_pa + v * cos_pa);
    const double across = component.minor_rad * (u * cos_pa - v * sin_pa);
    path.gaussian_m2 = kPi * kPi / (4 * std::log(2.0)) * (along * along + across * across);
  }
  return path;
}

}  // namespace apsyn::simulate
