// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/beams/element_field.h"

#include <algorithm>

#include "libcore/beams/lanes.h"

namespace apsyn {
namespace {

/// Planes [pixel] of a direction and of north in the axes of a field, and of E, which becomes E R; `cut`
/// makes it 0 below the horizon.
struct Planes {
  const float* direction;
  const float* north;
  float* e;
  std::size_t n;
  bool cut;
};

APSYN_BEAM_INLINE void turn_to_sky_lanes(const Planes& of) {
  for (std::size_t i = 0; i < of.n; i += kLanes) {
    const LaneDirection d = lane_direction(of.direction + i, of.n);
    const Lanes p = load_lanes(of.north + i), q = load_lanes(of.north + of.n + i),
                r = load_lanes(of.north + 2 * of.n + i);
    // R = [a, b; b, -a]
    Lanes a = d.cos_theta * (d.cos_phi * p + d.sin_phi * q) - d.sin_theta * r;
    Lanes b = d.cos_phi * q - d.sin_phi * p;
    if (of.cut) {
      const Lanes height = load_lanes(of.direction + 2 * of.n + i);
      a = where_less(-height, 0, a, Lanes{});
      b = where_less(-height, 0, b, Lanes{});
    }
    for (std::size_t row = 0; row < 2; ++row)
      for (std::size_t part = 0; part < 2; ++part) {
        float* theta = of.e + (4 * row + part) * of.n + i;
        float* phi = theta + 2 * of.n;
        const Lanes t = load_lanes(theta), f = load_lanes(phi);
        store_lanes(theta, t * a + f * b);
        store_lanes(phi, t * b - f * a);
      }
  }
}

void turn_to_sky(const Planes& of) {
  run_on_lanes([&](auto) APSYN_BEAM_BODY { turn_to_sky_lanes(of); });
}

}  // namespace

void fill_element_field(const Mat3& axes, StationKind kind, const ElementResponse& element,
                        View<const SkyVector, 1> sky, Buffer<float, 3>& planes) {
  const std::size_t n = (sky.size() + kLanes - 1) / kLanes * kLanes;
  Buffer<float, 2> direction({3, n}), north({3, n}), of_model({3, n});
  for (std::size_t i = 0; i < n; ++i) {
    const SkyVector& there = sky[std::min(i, sky.size() - 1)];
    const Vec3 s = multiply(axes, there.direction), up = multiply(axes, there.north);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      direction(axis, i) = static_cast<float>(s[axis]);
      north(axis, i) = static_cast<float>(up[axis]);
    }
    // phi counts from 225 degrees.
    of_model(0, i) = static_cast<float>((s[0] + s[1]) * kHamakerTurn);
    of_model(1, i) = static_cast<float>((s[1] - s[0]) * kHamakerTurn);
    of_model(2, i) = static_cast<float>(s[2]);
  }
  planes.resize({4, 2, n});
  element.many(kind == StationKind::lofar ? of_model : direction, planes);
  turn_to_sky({direction.data(), north.data(), planes.data(), n, kind == StationKind::lofar});
}

}  // namespace apsyn
