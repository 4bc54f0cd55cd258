// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/fft/grid.h"

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"

namespace apsyn {
namespace {

constexpr std::size_t kMaxCells = 4096;
constexpr double kMinCells = 8;  // the interpolation's window fits into twice as many
/// Pixels that the choice of a plane may move a source by.
constexpr double kTolerance_pixels = 1e-3;

Vec3 normalised(const Vec3& v) {
  return scaled(v, 1 / std::sqrt(dot(v, v)));
}

Vec3 mean_position(const EpicPlan& plan, const EpicGeometry& geometry) {
  Vec3 sum{};
  double n = 0;
  for (std::size_t ant = 0; ant < plan.n_ant; ++ant) {
    if (!plan.gridded(ant)) continue;
    sum = sum + geometry.enu_m[ant];
    ++n;
  }
  return n > 0 ? scaled(sum, 1 / n) : sum;
}

/// Upward normal of the plane up = a east + b north that fits best; slopes along which the array does not
/// reach stay 0.
Vec3 fitted_normal(const EpicPlan& plan, const EpicGeometry& geometry, const Vec3& mean) {
  double ee = 0, en = 0, nn = 0, eu = 0, nu = 0;
  for (std::size_t ant = 0; ant < plan.n_ant; ++ant) {
    if (!plan.gridded(ant)) continue;
    const Vec3 r = geometry.enu_m[ant] - mean;
    ee += r[0] * r[0];
    en += r[0] * r[1];
    nn += r[1] * r[1];
    eu += r[0] * r[2];
    nu += r[1] * r[2];
  }
  // Along the principal axes of the horizontal positions the two slopes are independent.
  const double angle = 0.5 * std::atan2(2 * en, ee - nn);
  const double c = std::cos(angle), s = std::sin(angle);
  const double along = c * c * ee + 2 * c * s * en + s * s * nn;
  const double across = s * s * ee - 2 * c * s * en + c * c * nn;
  constexpr double kThin = 1e-6;  // an array this much narrower than long is a line
  const double slope = along > 0 ? (c * eu + s * nu) / along : 0;
  const double side = across > kThin * along ? (c * nu - s * eu) / across : 0;
  return normalised({-(c * slope - s * side), -(s * slope + c * side), 1});
}

/// `axes` turned by the least rotation that brings its third row to `normal`.
Mat3 tilted(const Mat3& axes, const Vec3& normal) {
  Mat3 out = axes;
  out[2] = normal;
  out[0] = normalised(axes[0] - scaled(normal, dot(axes[0], normal)));
  out[1] = {normal[1] * out[0][2] - normal[2] * out[0][1], normal[2] * out[0][0] - normal[0] * out[0][2],
            normal[0] * out[0][1] - normal[1] * out[0][0]};
  return out;
}

struct Extent {
  double u_m = 0, v_m = 0;  ///< from end to end
};

Extent extent_of(const EpicPlan& plan, const EpicGeometry& geometry, const FftGrid& grid) {
  Vec3 low{}, high{};
  for (std::size_t ant = 0; ant < plan.n_ant; ++ant) {
    if (!plan.gridded(ant)) continue;
    const Vec3 place = grid.place(geometry.enu_m[ant]);
    for (std::size_t i = 0; i < 3; ++i) {
      low[i] = std::min(low[i], place[i]);
      high[i] = std::max(high[i], place[i]);
    }
  }
  return {high[0] - low[0], high[1] - low[1]};
}

/// Largest |l|, |m| of the sky that the image shows, in the grid's axes: {half x, half y}.
std::array<double, 2> field_of(const EpicPlan& plan, const EpicGeometry& geometry, const FftGrid& grid) {
  std::array<double, 2> half{};
  for (std::size_t y = 0; y < plan.ny; ++y)
    for (std::size_t x = 0; x < plan.nx; ++x) {
      const Vec3 s = epic_direction(plan, geometry, x, y);
      if (std::isnan(s[0])) continue;
      half[0] = std::max(half[0], std::abs(dot(s, grid.axes[0])));
      half[1] = std::max(half[1], std::abs(dot(s, grid.axes[1])));
    }
  if (half[0] == 0 || half[1] == 0) half = {std::max(half[0], plan.cell), std::max(half[1], plan.cell)};
  return half;
}

/// A grid, and the cells that its longer axis needs: it is usable when they are no more than kMaxCells.
struct SizedGrid {
  FftGrid grid;
  double cells = 0;

  std::size_t length(double axis_cells) {
    if (!(axis_cells <= cells)) cells = axis_cells;
    return smooth_length(
        static_cast<std::size_t>(std::ceil(std::min(static_cast<double>(kMaxCells), axis_cells))));
  }
};

SizedGrid size_grid(const EpicPlan& plan, const EpicGeometry& geometry) {
  SizedGrid sized;
  FftGrid& grid = sized.grid;
  grid.origin_m = mean_position(plan, geometry);
  const Vec3 up{0, 0, 1};
  const Vec3 normal = plan.w == EpicW::zenith ? up : fitted_normal(plan, geometry, grid.origin_m);
  const Vec3 off = normal - geometry.axes[2];
  grid.resampled = std::sqrt(dot(off, off)) > kTolerance_pixels * plan.cell;
  const double nx = static_cast<double>(plan.nx), ny = static_cast<double>(plan.ny);
  if (!grid.resampled) {
    grid.axes = geometry.axes;
    const auto half = field_of(plan, geometry, grid);
    grid.x = {sized.length(plan.padding * nx), plan.cell, half[0]};
    grid.y = {sized.length(plan.padding * ny), plan.cell, half[1]};
    return sized;
  }
  grid.axes = tilted({{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}, normal);
  auto half = field_of(plan, geometry, grid);
  for (double& width : half) width = std::min(1.0, width + plan.cell);  // the sky may move a little
  const Extent extent = extent_of(plan, geometry, grid);
  const double highest_hz = plan.highest_hz();
  // The power of a field that spans n cells has lags over twice as many cells, so it can be interpolated if
  // the transform has at least as many pixels.
  const auto axis = [&](double n_image, double half_width, double extent_m) {
    const double field = plan.padding * std::max(n_image * plan.cell, 2 * half_width);
    const double cells =
        extent_m * highest_hz / kSpeedOfLight_m_s * field + static_cast<double>(plan.kernel_cells) + 1;
    GridAxis out;
    out.n = sized.length(std::max({plan.padding * n_image, 2 * cells, kMinCells}));
    out.cell = field / static_cast<double>(out.n);
    out.half = half_width;
    return out;
  };
  grid.x = axis(nx, half[0], extent.u_m);
  grid.y = axis(ny, half[1], extent.v_m);
  return sized;
}

}  // namespace

std::size_t smooth_length(std::size_t n) {
  for (std::size_t length = std::max<std::size_t>(n, 1);; ++length) {
    std::size_t rest = length;
    for (std::size_t prime : {2, 3, 5})
      while (rest % prime == 0) rest /= prime;
    if (rest == 1) return length;
  }
}

bool fits_fft_grid(const EpicPlan& plan, const EpicGeometry& geometry) {
  return size_grid(plan, geometry).cells <= kMaxCells;
}

FftGrid plan_fft_grid(const EpicPlan& plan, const EpicGeometry& geometry) {
  const SizedGrid sized = size_grid(plan, geometry);
  if (!(sized.cells <= kMaxCells))
    throw UsageError(
        "--method fft: a grid of {:.0f} cells is needed, {} are the most: flag outlying antennas, make the "
        "image smaller, or give --method dft or corr",
        sized.cells, kMaxCells);
  return sized.grid;
}

std::optional<FftOutlier> fft_outlier(const EpicPlan& plan, const EpicGeometry& geometry) {
  EpicPlan others;  // what size_grid() looks at
  others.n_ant = plan.n_ant;
  others.channel_hz = plan.channel_hz;
  others.nx = plan.nx;
  others.ny = plan.ny;
  others.cell = plan.cell;
  others.kernel_cells = plan.kernel_cells;
  others.padding = plan.padding;
  others.w = plan.w;
  others.flagged = plan.flagged;
  others.flagged.resize(plan.n_ant, 0);
  others.off_grid = plan.off_grid;
  const Vec3 middle = mean_position(plan, geometry);
  FftOutlier outlier;
  double farthest_m2 = -1;
  for (std::size_t ant = 0; ant < plan.n_ant; ++ant) {
    const Vec3 off = geometry.enu_m[ant] - middle;
    if (!plan.gridded(ant) || !(dot(off, off) > farthest_m2)) continue;
    farthest_m2 = dot(off, off);
    outlier.ant = ant;
  }
  std::size_t n_gridded = 0;
  for (std::size_t ant = 0; ant < plan.n_ant; ++ant) n_gridded += plan.gridded(ant) ? 1 : 0;
  if (n_gridded < 3) return {};
  others.flagged[outlier.ant] = 1;
  const SizedGrid with = size_grid(plan, geometry), without = size_grid(others, geometry);
  outlier.without = without.grid;
  const auto cells = [](const FftGrid& grid) { return grid.x.n * grid.y.n; };
  if (!(without.cells <= kMaxCells) || cells(with.grid) < 2 * cells(without.grid)) return {};
  return outlier;
}

std::array<double, 2> spanned_cells(const EpicPlan& plan, const EpicGeometry& geometry, const FftGrid& grid,
                                    double freq_hz) {
  const Extent extent = extent_of(plan, geometry, grid);
  const double per_m = freq_hz / kSpeedOfLight_m_s;
  return {extent.u_m * per_m / grid.x.spacing(), extent.v_m * per_m / grid.y.spacing()};
}

bool serves(const FftGrid& grid, const EpicPlan& plan, const EpicGeometry& planned_for,
            const EpicGeometry& geometry) {
  if (planned_for.enu_m != geometry.enu_m) return false;
  const Mat3& a = planned_for.axes;
  const Mat3& b = geometry.axes;
  double largest = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const Vec3 change = a[i] - b[i];
    largest = std::max(largest, std::sqrt(dot(change, change)));
  }
  const double pixels = static_cast<double>(std::max(plan.nx, plan.ny)) / 2;
  if (!grid.resampled) return largest * std::min(pixels, 1 / plan.cell) <= kTolerance_pixels;
  // A plane fixed to the ground serves as long as the same part of the sky is shown.
  return largest * std::min(pixels, 1 / plan.cell) <= 1;
}

}  // namespace apsyn
