// SPDX-License-Identifier: GPL-3.0-or-later
// Where an array's antennas stand. Positions are local east, north, up in metres about the site.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace apsyn {

using Vec3 = std::array<double, 3>;
using Mat3 = std::array<Vec3, 3>;  ///< rows

inline double dot(const Vec3& a, const Vec3& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
inline Vec3 scaled(const Vec3& v, double factor) {
  return {v[0] * factor, v[1] * factor, v[2] * factor};
}
inline Vec3 operator-(const Vec3& a, const Vec3& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
inline Vec3 operator+(const Vec3& a, const Vec3& b) {
  return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}
inline Vec3 multiply(const Mat3& m, const Vec3& v) {
  return {dot(m[0], v), dot(m[1], v), dot(m[2], v)};
}

struct Site {
  double lat_rad = 0, lon_rad = 0, height_m = 0;  ///< WGS84 geodetic, longitude east
};

struct Antenna {
  std::string name;
  Vec3 enu_m{};
  double cable_delay_s = 0;  ///< what the cable adds to the signal's arrival
  bool flagged = false;
  std::string mount = "FIXED";  ///< as MOUNT of a Measurement Set: ALT-AZ, EQUATORIAL, X-Y, ...
  double dish_diameter_m = 0;   ///< 0: no dish, or not known
};

struct ArrayLayout {
  std::string telescope;
  std::optional<Site> site;       ///< absent when the file does not tell
  bool site_is_mean = false;      ///< site is the mean of geocentric positions, no reference point of its own
  std::vector<Antenna> antennas;  ///< in stream order
};

/// WGS84 ellipsoid: geodetic -> geocentric ITRF metres, and back.
Vec3 geocentric_from_site(const Site& site);
/// OBSGEO-X, -Y and -Z of FITS, the site in ITRF metres; none where the site is not known.
std::vector<std::pair<std::string, double>> site_keywords(const std::optional<Site>& site);
Site site_from_geocentric(const Vec3& itrf_m);
/// Local offsets <-> geocentric positions about the site.
Vec3 geocentric_from_enu(const Site& site, const Vec3& enu_m);
Vec3 enu_from_geocentric(const Site& site, const Vec3& itrf_m);
/// Rows east, north, up in the geocentric frame: enu = R (xyz - site).
Mat3 enu_rotation(const Site& site);

/// Names of the built-in arrays: mwa-32t mwa-128t lwa-sv best-2 ska1-low-core vla-a.
std::vector<std::string> builtin_array_names();
/// Throws UsageError for a name that is not built in.
ArrayLayout builtin_array(std::string_view name);

/// `name,east_m,north_m,up_m` or geocentric `name,x_m,y_m,z_m` (unit suffix optional); '#' starts a comment
/// line, in which "site LAT LON HEIGHT" (deg, deg, m) names the site. `source` names the text in errors.
/// DataError when malformed: unknown columns, too few or too many fields, a value that is no finite number, a
/// name twice.
ArrayLayout parse_antennas_csv(std::string_view text, const std::string& source);
ArrayLayout read_antennas_csv(const std::string& path);
/// "LAT,LON,ALT" in degrees, degrees and metres (units may be given: "-26.7deg,116.67deg,377m").
Site parse_site(std::string_view text);
/// The layout about another site: geocentric positions stay where they are on the Earth when the old site was
/// only their mean; local offsets are otherwise kept.
void set_site(ArrayLayout& layout, const Site& site);
/// "3,Tile05,7": indices or names -> sets `flagged` (a name wins over an index); UsageError for an unknown
/// antenna.
void flag_antennas(ArrayLayout& layout, std::string_view list);

}  // namespace apsyn
