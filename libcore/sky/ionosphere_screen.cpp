// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/sky/ionosphere_screen.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/base/time.h"

namespace apsyn {
namespace {

/// Weights of the four points around a position that lies `x` (0 to 1) beyond the second of them.
std::array<double, 4> cubic_weights(double x) {
  return {0.5 * x * (x * (2 - x) - 1), 0.5 * (x * x * (3 * x - 5) + 2), 0.5 * x * (x * (4 - 3 * x) + 1),
          0.5 * x * x * (x - 1)};
}

void check(const IonosphereGrid& grid, const std::string& source) {
  const auto [n_time, n_north, n_east] = grid.tec_tecu.shape();
  if (n_time < 1 || n_north < 4 || n_east < 4)
    throw DataError("{}: {} x {} points in {} steps: at least 4 x 4 points and a step are needed", source,
                    n_east, n_north, n_time);
  const auto positive = [&](const char* what, double value) {
    if (!(value > 0 && std::isfinite(value)))
      throw DataError("{}: {} {}: must be positive", source, what, value);
  };
  positive("height", grid.height_m);
  positive("step towards east", grid.step_east_m);
  positive("step towards north", grid.step_north_m);
  if (n_time > 1) positive("step in time", grid.step_s);
  for (const double value_m : {grid.east_m, grid.north_m})
    if (!std::isfinite(value_m)) throw DataError("{}: coordinate {}: must be finite", source, value_m);
  constexpr double kLatest_mjd_s = 1e11;  // some three thousand years
  if (!(std::abs(grid.time_mjd_s) + grid.step_s * static_cast<double>(n_time) < kLatest_mjd_s))
    throw DataError("{}: steps of {} s from {}: not MJD in seconds", source, grid.step_s, grid.time_mjd_s);
  for (std::size_t time = 0; time < n_time; ++time)
    for (std::size_t north = 0; north < n_north; ++north)
      for (std::size_t east = 0; east < n_east; ++east)
        if (!std::isfinite(grid.tec_tecu(time, north, east)))
          throw DataError("{}: TEC {} at column {}, row {}, step {}: every value must be finite", source,
                          grid.tec_tecu(time, north, east), east + 1, north + 1, time + 1);
}

}  // namespace

IonosphereScreen::IonosphereScreen(const IonosphereGrid& grid, std::string source)
    : source_(std::move(source)),
      height_m_(grid.height_m),
      east_m_(grid.east_m),
      north_m_(grid.north_m),
      step_east_m_(grid.step_east_m),
      step_north_m_(grid.step_north_m),
      time_mjd_s_(grid.time_mjd_s),
      step_s_(grid.step_s) {
  check(grid, source_);
  const auto [n_time, n_north, n_east] = grid.tec_tecu.shape();
  tec_tecu_.resize({n_time, n_north + 2, n_east + 2});
  const auto before = [](double f0, double f1, double f2) { return 3 * f0 - 3 * f1 + f2; };
  for (std::size_t time = 0; time < n_time; ++time) {
    const View<double, 2> tec = tec_tecu_.view()[time];
    for (std::size_t north = 0; north < n_north; ++north) {
      const auto row = grid.tec_tecu.view()[time][north];
      const auto padded = tec[north + 1];
      std::copy(row.begin(), row.end(), padded.begin() + 1);
      padded[0] = before(row[0], row[1], row[2]);
      padded[n_east + 1] = before(row[n_east - 1], row[n_east - 2], row[n_east - 3]);
    }
    for (std::size_t east = 0; east < n_east + 2; ++east) {
      tec(0, east) = before(tec(1, east), tec(2, east), tec(3, east));
      tec(n_north + 1, east) = before(tec(n_north, east), tec(n_north - 1, east), tec(n_north - 2, east));
    }
  }
}

std::size_t IonosphereScreen::step_of(double time_mjd_s) const {
  if (step_s_ <= 0) return 0;
  const double position = (time_mjd_s - time_mjd_s_) / step_s_ + 0.5;  // 0 where the first step begins
  const double n = static_cast<double>(n_steps());
  constexpr double kRounding = 1e-6;  // MJD seconds are good to 1e-6 s
  if (!(position >= -kRounding && position <= n + kRounding)) {
    const auto utc = [](double mjd_s) { return format_fits_utc(from_mjd_seconds(mjd_s)); };
    if (!std::isfinite(time_mjd_s)) throw DataError("{}: time {}: no time", source_, time_mjd_s);
    throw DataError("{}: time {}: the screens are for {} to {}: make screens that cover the observation",
                    source_, utc(time_mjd_s), utc(time_mjd_s_ - 0.5 * step_s_),
                    utc(time_mjd_s_ + (n - 0.5) * step_s_));
  }
  return static_cast<std::size_t>(std::clamp(std::floor(position), 0.0, n - 1));
}

IonosphereScreen::Pierce IonosphereScreen::pierce(const Vec3& station_enu_m, const Vec3& direction) const {
  const auto& x = station_enu_m;
  const auto& s = direction;
  const double along = dot(x, s) + kEarthRadius_m * s[2];  // from the Earth's centre to x, along s
  const double radius_m = kEarthRadius_m + height_m_;
  // |x - centre|^2 - radius^2, written so that squares of the Earth's radius cancel on paper
  const double below = dot(x, x) + 2 * kEarthRadius_m * (x[2] - height_m_) - height_m_ * height_m_;
  if (!(below < 0))
    throw DataError("{}: station {:.0f} m above the array: the layer, {:.0f} m above it, must be higher",
                    source_, x[2], height_m_);
  const double root = std::sqrt(along * along - below);
  const double t = -below / (along + root);
  return {(x[0] + t * s[0] - east_m_) / step_east_m_, (x[1] + t * s[1] - north_m_) / step_north_m_,
          radius_m / root};
}

bool IonosphereScreen::inside(const Pierce& point) const {
  return point.x >= 0 && point.x <= static_cast<double>(tec_tecu_.extent(2) - 3) && point.y >= 0 &&
         point.y <= static_cast<double>(tec_tecu_.extent(1) - 3);
}

double IonosphereScreen::interpolate(const Pierce& point, std::size_t step) const {
  const std::size_t last_x = tec_tecu_.extent(2) - 4, last_y = tec_tecu_.extent(1) - 4;
  const std::size_t ix = std::min(static_cast<std::size_t>(point.x), last_x);
  const std::size_t iy = std::min(static_cast<std::size_t>(point.y), last_y);
  const auto wx = cubic_weights(point.x - static_cast<double>(ix));
  const auto wy = cubic_weights(point.y - static_cast<double>(iy));
  double sum = 0;
  for (std::size_t j = 0; j < 4; ++j) {
    const double* row = &tec_tecu_(step, iy + j, ix);
    sum += wy[j] * (wx[0] * row[0] + wx[1] * row[1] + wx[2] * row[2] + wx[3] * row[3]);
  }
  return sum * point.slant;
}

std::optional<double> IonosphereScreen::find_tec(const Vec3& station_enu_m, const Vec3& direction,
                                                 std::size_t step) const {
  if (!(direction[2] >= 0)) return std::nullopt;
  const Pierce point = pierce(station_enu_m, direction);
  if (!inside(point)) return std::nullopt;
  return interpolate(point, step);
}

double IonosphereScreen::tec(const Vec3& station_enu_m, const Vec3& direction, std::size_t step) const {
  if (const auto found = find_tec(station_enu_m, direction, step)) return *found;
  const double azimuth_deg = std::atan2(direction[0], direction[1]) / kRadPerDeg;
  const std::string where =
      fmt::format("{}: azimuth {:.2f} deg, elevation {:.2f} deg", source_,
                  azimuth_deg < 0 ? azimuth_deg + 360 : azimuth_deg, std::asin(direction[2]) / kRadPerDeg);
  if (!(direction[2] >= 0)) throw DataError("{}: below the horizon: no ionosphere is there", where);
  const Pierce point = pierce(station_enu_m, direction);
  const auto reach_km = [](double first_m, double step_m, std::size_t padded) {
    return fmt::format("{:.1f} to {:.1f} km", first_m / 1e3,
                       (first_m + step_m * static_cast<double>(padded - 3)) / 1e3);
  };
  throw DataError(
      "{}: that ray meets the layer {:.1f} km east and {:.1f} km north of the array, outside of the screen "
      "({} east, {} north): make a larger screen, or leave that direction out",
      where, (east_m_ + point.x * step_east_m_) / 1e3, (north_m_ + point.y * step_north_m_) / 1e3,
      reach_km(east_m_, step_east_m_, tec_tecu_.extent(2)),
      reach_km(north_m_, step_north_m_, tec_tecu_.extent(1)));
}

double IonosphereScreen::extended_tec(const Vec3& station_enu_m, const Vec3& direction,
                                      std::size_t step) const {
  Vec3 s = direction;
  if (!(s[2] >= 0)) {
    const double across = std::hypot(s[0], s[1]);
    s = across > 0 ? Vec3{s[0] / across, s[1] / across, 0} : Vec3{0, 1, 0};
  }
  Pierce point = pierce(station_enu_m, s);
  point.x = std::clamp(point.x, 0.0, static_cast<double>(tec_tecu_.extent(2) - 3));
  point.y = std::clamp(point.y, 0.0, static_cast<double>(tec_tecu_.extent(1) - 3));
  return interpolate(point, step);
}

}  // namespace apsyn
