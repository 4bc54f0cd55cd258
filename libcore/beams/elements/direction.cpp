// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "libcore/beams/elements/element.h"

namespace apsyn {

ElementDirection element_direction(const Vec3& local) {
  constexpr double kLeastTheta_rad = 1e-5;
  const double across = std::hypot(local[0], local[1]);
  ElementDirection direction;
  if (across > 1e-10) {
    direction.cos_phi = local[0] / across;
    direction.sin_phi = local[1] / across;
  }
  direction.sin_theta = std::max(across, kLeastTheta_rad);
  direction.cos_theta = local[2];
  return direction;
}

}  // namespace apsyn
