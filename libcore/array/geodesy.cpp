// SPDX-License-Identifier: GPL-3.0-or-later
// WGS84 (NGA.STND.0036): geodetic, geocentric and local coordinates.
#include <cmath>

#include "libcore/array/array_layout.h"
#include "libcore/base/constants.h"

namespace apsyn {
namespace {

constexpr double kSemiMajor_m = 6378137.0;
constexpr double kFlattening = 1.0 / 298.257223563;
constexpr double kEccentricity2 = kFlattening * (2.0 - kFlattening);

}  // namespace

Vec3 geocentric_from_site(const Site& site) {
  const double sin_lat = std::sin(site.lat_rad), cos_lat = std::cos(site.lat_rad);
  const double prime_vertical_m = kSemiMajor_m / std::sqrt(1.0 - kEccentricity2 * sin_lat * sin_lat);
  return {(prime_vertical_m + site.height_m) * cos_lat * std::cos(site.lon_rad),
          (prime_vertical_m + site.height_m) * cos_lat * std::sin(site.lon_rad),
          (prime_vertical_m * (1.0 - kEccentricity2) + site.height_m) * sin_lat};
}

std::vector<std::pair<std::string, double>> site_keywords(const std::optional<Site>& site) {
  if (!site) return {};
  const Vec3 itrf_m = geocentric_from_site(*site);
  return {{"OBSGEO-X", itrf_m[0]}, {"OBSGEO-Y", itrf_m[1]}, {"OBSGEO-Z", itrf_m[2]}};
}

Site site_from_geocentric(const Vec3& itrf_m) {
  // Bowring's parametric-latitude step, repeated: it gains about three digits a turn near the surface and
  // converges everywhere outside the evolute, a few tens of kilometres around the centre.
  const double axis_distance_m = std::hypot(itrf_m[0], itrf_m[1]);
  const double semi_minor_m = kSemiMajor_m * (1.0 - kFlattening);
  const double second_eccentricity2 = kEccentricity2 / (1.0 - kEccentricity2);
  double parametric = std::atan2(kSemiMajor_m * itrf_m[2], semi_minor_m * axis_distance_m);
  double lat = 0;
  for (int turn = 0; turn < 8; ++turn) {
    const double s = std::sin(parametric), c = std::cos(parametric);
    lat = std::atan2(itrf_m[2] + second_eccentricity2 * semi_minor_m * s * s * s,
                     axis_distance_m - kEccentricity2 * kSemiMajor_m * c * c * c);
    parametric = std::atan2((1.0 - kFlattening) * std::sin(lat), std::cos(lat));
  }
  // The height along the ellipsoid's normal, well-conditioned at the poles and on the equator alike.
  const double sin_lat = std::sin(lat), cos_lat = std::cos(lat);
  const double height_m = axis_distance_m * cos_lat + itrf_m[2] * sin_lat -
                          kSemiMajor_m * std::sqrt(1.0 - kEccentricity2 * sin_lat * sin_lat);
  return {lat, std::atan2(itrf_m[1], itrf_m[0]), height_m};
}

Mat3 enu_rotation(const Site& site) {
  const double sin_lat = std::sin(site.lat_rad), cos_lat = std::cos(site.lat_rad);
  const double sin_lon = std::sin(site.lon_rad), cos_lon = std::cos(site.lon_rad);
  return {{{-sin_lon, cos_lon, 0.0},
           {-sin_lat * cos_lon, -sin_lat * sin_lon, cos_lat},
           {cos_lat * cos_lon, cos_lat * sin_lon, sin_lat}}};
}

Vec3 geocentric_from_enu(const Site& site, const Vec3& enu_m) {
  const Mat3 rotation = enu_rotation(site);
  Vec3 position_m = geocentric_from_site(site);
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t axis = 0; axis < 3; ++axis) position_m[axis] += rotation[row][axis] * enu_m[row];
  return position_m;
}

Vec3 enu_from_geocentric(const Site& site, const Vec3& itrf_m) {
  return multiply(enu_rotation(site), itrf_m - geocentric_from_site(site));
}

}  // namespace apsyn
