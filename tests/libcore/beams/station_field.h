// SPDX-License-Identifier: GPL-3.0-or-later
// Made-up stations, and the sky above them.
#pragma once

#include <cmath>
#include <random>

#include "libcore/base/constants.h"
#include "libcore/beams/station.h"

namespace beam_test {

using apsyn::dot;
using apsyn::Vec3;

inline Vec3 cross(const Vec3& a, const Vec3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
inline Vec3 unit(const Vec3& a) {
  const double r = std::sqrt(dot(a, a));
  return {a[0] / r, a[1] / r, a[2] / r};
}

/// Elements within a circle of the ground, and perhaps tiles, about a place whose normal is r.
inline apsyn::StationField random_field(std::size_t n_elements, double radius_m, bool tiles, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> flat(-1, 1);
  apsyn::StationField field;
  const Vec3 r = unit({0.6 + 0.01 * flat(random), 0.07, 0.8}), p = unit(cross({0.3, 0.2, 1}, r));
  field.axes = {p, cross(r, p), r};
  field.position_m = {100 * flat(random), 100 * flat(random), 100 * flat(random)};
  const auto on_ground = [&](double scale) {
    const double a = scale * flat(random), b = scale * flat(random), c = 0.005 * scale * flat(random);
    Vec3 v{};
    for (std::size_t i = 0; i < 3; ++i)
      v[i] = a * field.axes[0][i] + b * field.axes[1][i] + c * field.axes[2][i];
    return v;
  };
  for (std::size_t k = 0; k < n_elements; ++k) {
    field.elements_m.push_back(on_ground(radius_m));
    const bool off = k % 7 == 3;
    field.enabled.push_back({!off, !off || k % 2 == 0});
  }
  for (int j = 0; tiles && j < 16; ++j) field.tile_m.push_back(on_ground(2));
  field.element = tiles ? 1 : 0;
  return field;
}

/// Pixels of a SIN projection about a direction `zenith_rad` from the normal of a field, bent as aberration
/// of 1e-4 does; `wide` is the field's width in radians.
inline apsyn::Buffer<apsyn::SkyVector, 2> sky_about(const apsyn::StationField& field, double zenith_rad,
                                                    double wide, std::size_t side) {
  const Vec3 pole{0.01, -0.02, std::sqrt(1 - 5e-4)};
  Vec3 centre{};
  for (std::size_t i = 0; i < 3; ++i)
    centre[i] = std::cos(zenith_rad) * field.axes[2][i] +
                std::sin(zenith_rad) * (0.6 * field.axes[0][i] - 0.8 * field.axes[1][i]);
  const Vec3 east = unit(cross(pole, centre)), north = cross(centre, east);
  apsyn::Buffer<apsyn::SkyVector, 2> sky({side, side});
  for (std::size_t y = 0; y < side; ++y)
    for (std::size_t x = 0; x < side; ++x) {
      const double step = wide / static_cast<double>(side);
      double l = (0.5 * static_cast<double>(side - 1) - static_cast<double>(x)) * step,
             m = (static_cast<double>(y) - 0.5 * static_cast<double>(side - 1)) * step;
      const double far = std::max(1.0, std::hypot(l, m));
      l /= far;
      m /= far;
      const double n = std::sqrt(std::max(0.0, 1 - l * l - m * m));
      Vec3 s{};
      const Vec3 beta{7e-5, -6e-5, 3e-5};
      for (std::size_t i = 0; i < 3; ++i) s[i] = l * east[i] + m * north[i] + n * centre[i] + beta[i];
      s = unit(s);
      const Vec3 e = unit(cross(pole, s));
      sky(y, x) = {s, cross(s, e)};
    }
  return sky;
}

}  // namespace beam_test
