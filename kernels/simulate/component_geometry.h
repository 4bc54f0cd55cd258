// SPDX-License-Identifier: GPL-3.0-or-later
// What a component is to every row, for the sums in single precision.
#pragma once

#include <cmath>

#include "libcore/array/array_layout.h"
#include "libcore/base/constants.h"
#include "libcore/sky/rephase.h"
#include "libcore/sky/sky_model.h"

namespace apsyn::simulate {

struct ComponentGeometry {
  Vec3 path{};                      ///< (l, m, n - 1): times uvw the length
  bool is_extended = false;         ///< a Gaussian
  Vec3 major_axis{}, minor_axis{};  ///< times uvw: the lengths whose squares add up in the exponent
};

/// The same at a time.
struct ComponentPlace {
  ComponentGeometry geometry;
  bool is_up = true;  ///< above the horizon; others add nothing
};

/// G = exp(-(pi^2 / (4 ln 2)) ((major u')^2 + (minor v')^2)) of visibilities.h. `towards`: rows u, v, w of
/// the component's own frame, in that of the rows' coordinates.
inline ComponentGeometry component_geometry(const SkyComponent& component, const Vec3& path,
                                            const Mat3& towards) {
  ComponentGeometry geometry{path, component.major_rad > 0, {}, {}};
  if (!geometry.is_extended) return geometry;
  const double factor = kPi / (2 * std::sqrt(std::log(2.0)));
  const double sin_pa = std::sin(component.position_angle_rad),
               cos_pa = std::cos(component.position_angle_rad);
  const Vec3 &u = towards[0], &v = towards[1];
  for (std::size_t i = 0; i < 3; ++i) {
    geometry.major_axis[i] = factor * component.major_rad * (u[i] * sin_pa + v[i] * cos_pa);
    geometry.minor_axis[i] = factor * component.minor_rad * (u[i] * cos_pa - v[i] * sin_pa);
  }
  return geometry;
}

/// For rows of u, v and w that point at `centre`.
inline ComponentGeometry component_geometry(const SkyComponent& component, const SkyDirection& centre) {
  const Rephasing move = make_rephasing(centre, component.direction);
  return component_geometry(component, move.path, move.rotation);
}

}  // namespace apsyn::simulate
