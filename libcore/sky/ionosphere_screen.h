// SPDX-License-Identifier: GPL-3.0-or-later
// The ionosphere as a thin layer at one height above the array: every station looks at a source through its
// own point of the layer (Hodgson 2025, section 6.2). A column of TEC multiplies the field that arrives by
//   exp(i phase),   phase = -8.44797245e9 TEC / nu   [rad; TEC in TECU = 1e16 electrons/m^2, nu in Hz].
//
// Geometry: the layer is a sphere about the Earth's centre, which lies kEarthRadius_m below the origin of the
// local frame; the layer is height_m above that origin. The ray from station x in direction s meets it at
//   P = x + t s,   |P - centre| = kEarthRadius_m + height_m,
// and sees the TEC at the east and north coordinates of P (P dropped onto the plane of the horizon, so near
// the zenith this is a flat screen), times the slant factor 1 / cos(angle between s and the vertical at P),
// because the values are those of vertical columns.
//
// Between grid points: cubic convolution (Keys 1981, IEEE Trans. ASSP 29, 1153; a = -1/2) in both directions,
// with Keys' third-order continuation beyond the first and last points: exact for quadratics, continuous
// slopes. In time: the nearest step.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "libcore/array/array_layout.h"
#include "libcore/base/view.h"

namespace apsyn {

inline constexpr double kEarthRadius_m = 6371008.8;  ///< mean radius of the WGS84 ellipsoid

/// Radians that one column of `tec_tecu` turns the phase of a field.
constexpr double ionosphere_phase_rad(double tec_tecu, double freq_hz) {
  return -8.44797245e9 * tec_tecu / freq_hz;
}

/// What a file holds.
struct IonosphereGrid {
  double height_m = 100e3;
  double east_m = 0, north_m = 0;            ///< of the first column and row
  double step_east_m = 0, step_north_m = 0;  ///< > 0
  double time_mjd_s = 0;                     ///< middle of the first step, UTC
  double step_s = 0;                         ///< length of a step; 0 with one step: it holds at all times
  Buffer<double, 3> tec_tecu;                ///< [time][north][east], vertical columns
};

class IonosphereScreen {
 public:
  /// `source` names the grid in errors. DataError when a value is not finite, a step is not positive, the
  /// layer not above the ground, or the grid smaller than 4 x 4 points.
  IonosphereScreen(const IonosphereGrid& grid, std::string source);

  std::size_t n_steps() const { return tec_tecu_.extent(0); }
  /// The step that holds at a time; DataError before the first and after the last.
  std::size_t step_of(double time_mjd_s) const;

  /// TECU along the ray from a station (east, north, up; below the layer) in a direction (unit vector east,
  /// north, up) during a step. DataError when the direction is below the horizon or the ray passes beside the
  /// grid. Safe from several threads at once, as is all that follows.
  double tec(const Vec3& station_enu_m, const Vec3& direction, std::size_t step) const;
  /// The same; nothing where tec() throws.
  std::optional<double> find_tec(const Vec3& station_enu_m, const Vec3& direction, std::size_t step) const;
  /// The same, continued smoothly enough for A-terms beyond what is there: rays that pass beside the grid see
  /// its nearest point, directions below the horizon what is at the horizon under them.
  double extended_tec(const Vec3& station_enu_m, const Vec3& direction, std::size_t step) const;

 private:
  struct Pierce {
    double x, y;   // in steps from the first column and row
    double slant;  // 1 / cos(zenith angle at the layer)
  };
  Pierce pierce(const Vec3& station_enu_m, const Vec3& direction) const;
  bool inside(const Pierce& point) const;
  double interpolate(const Pierce& point, std::size_t step) const;

  std::string source_;
  double height_m_, east_m_, north_m_, step_east_m_, step_north_m_, time_mjd_s_, step_s_;
  Buffer<double, 3> tec_tecu_;  // [time][1 + north + 1][1 + east + 1], continued by a point on each side
};

}  // namespace apsyn
