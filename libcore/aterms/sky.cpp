// SPDX-License-Identifier: GPL-3.0-or-later
// To first order in the aberration beta a direction s is seen at a(s) = norm(R s + beta). Of a pair of
// opposite directions a(s) - a(-s) = 2 R s, a(s) + a(-s) = 2 (beta - (beta . R s) R s), and over three
// orthogonal pairs the latter add up to 4 beta: so six directions give R and beta to second order, 1e-8.
#include "libcore/aterms/sky.h"

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"

namespace apsyn {
namespace {

Vec3 normalised(const Vec3& a) {
  return scaled(a, 1 / std::sqrt(dot(a, a)));
}
Vec3 cross(const Vec3& a, const Vec3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

struct ApparentPlace {
  Mat3 axes;  ///< what the J2000 axes x, y, z become, as rows
  Vec3 beta{};

  ApparentPlace(const SkyFrame& frame, const UtcTime& time) {
    const SkyDirection directions[3][2] = {
        {{0, 0}, {kPi, 0}}, {{kPi / 2, 0}, {1.5 * kPi, 0}}, {{0, kPi / 2}, {0, -kPi / 2}}};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const Vec3 there = frame.enu_from_direction(time, directions[axis][0]);
      const Vec3 opposite = frame.enu_from_direction(time, directions[axis][1]);
      axes[axis] = normalised(there - opposite);
      beta = beta + scaled(there + opposite, 0.25);
    }
  }
  /// Rotation alone.
  Vec3 rotate(const Vec3& j2000) const {
    return scaled(axes[0], j2000[0]) + scaled(axes[1], j2000[1]) + scaled(axes[2], j2000[2]);
  }
};

/// Calls use(place of date of a pixel before aberration, J2000 north of the middle) row by row.
template <class Use>
void for_each_pixel(const ApparentPlace& place, const AtermGrid& grid, const Use& use) {
  const double sin_ra = std::sin(grid.centre.ra_rad), cos_ra = std::cos(grid.centre.ra_rad);
  const double sin_dec = std::sin(grid.centre.dec_rad), cos_dec = std::cos(grid.centre.dec_rad);
  const Vec3 east = place.rotate({-sin_ra, cos_ra, 0});
  const Vec3 north = place.rotate({-sin_dec * cos_ra, -sin_dec * sin_ra, cos_dec});
  const Vec3 centre = place.rotate({cos_dec * cos_ra, cos_dec * sin_ra, sin_dec});
  for (std::size_t y = 0; y < grid.side; ++y)
    for (std::size_t x = 0; x < grid.side; ++x) {
      double l = grid.l(x), m = grid.m(y);
      const double distance = std::max(1.0, std::hypot(l, m));
      l /= distance;
      m /= distance;
      const double n = std::sqrt(std::max(0.0, 1 - l * l - m * m));
      use(scaled(east, l) + scaled(north, m) + scaled(centre, n), north);
    }
}

/// Aberration turns the field with the direction, about an axis across both.
LocalSky aberrated(const ApparentPlace& place, const Vec3& place_of_date, const Vec3& north) {
  const Vec3& pole = place.axes[2];
  // At the pole itself, where every direction is south, that of the centre's north.
  Vec3 up = pole - scaled(place_of_date, dot(pole, place_of_date));
  if (dot(up, up) < 1e-20) up = north;
  const Vec3 direction = normalised(place_of_date + place.beta);
  up = normalised(up - scaled(direction, dot(up, direction)));
  return {direction, up, cross(up, direction)};
}

}  // namespace

std::vector<LocalSky> local_sky(const SkyFrame& frame, const UtcTime& time, const AtermGrid& grid) {
  const ApparentPlace place(frame, time);
  std::vector<LocalSky> sky;
  sky.reserve(grid.side * grid.side);
  for_each_pixel(place, grid, [&](const Vec3& place_of_date, const Vec3& north) {
    sky.push_back(aberrated(place, place_of_date, north));
  });
  return sky;
}

std::vector<LocalSky> local_sky(const SkyFrame& frame, const UtcTime& time,
                                std::span<const SkyDirection> directions) {
  const ApparentPlace place(frame, time);
  std::vector<LocalSky> sky;
  sky.reserve(directions.size());
  for (const SkyDirection& direction : directions)
    for_each_pixel(place, {direction, 1, 0, 0}, [&](const Vec3& place_of_date, const Vec3& north) {
      sky.push_back(aberrated(place, place_of_date, north));
    });
  return sky;
}

StationSky::StationSky(const SkyFrame& frame, const Site& site, const UtcTime& time)
    : frame_(frame), time_(time) {
  const Mat3 rows = enu_rotation(site);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) itrf_from_enu_[i][j] = rows[j][i];
  pole_ = direction({0, kPi / 2});
}

Vec3 StationSky::direction(const SkyDirection& j2000) const {
  return multiply(itrf_from_enu_, frame_.enu_from_direction(time_, j2000));
}

SkyVector StationSky::with_north(const Vec3& direction) const {
  Vec3 east = cross(pole_, direction);
  // At the pole any will do: RA 0 has its north towards 12 hours there.
  if (dot(east, east) < 1e-20) east = cross(this->direction({kPi, 0}), direction);
  return {direction, cross(direction, normalised(east))};
}

SkyVector StationSky::at(const SkyDirection& j2000) const {
  return with_north(direction(j2000));
}

Buffer<SkyVector, 2> StationSky::on_grid(const AtermGrid& grid) const {
  const ApparentPlace place(frame_, time_);
  Buffer<SkyVector, 2> sky({grid.side, grid.side});
  SkyVector* to = sky.data();
  for_each_pixel(place, grid, [&](const Vec3& place_of_date, const Vec3&) {
    *to++ = with_north(multiply(itrf_from_enu_, normalised(place_of_date + place.beta)));
  });
  return sky;
}

}  // namespace apsyn
