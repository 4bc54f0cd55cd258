// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/beam.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/base/units.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

constexpr double kFourLn2 = 2.772588722239781237668928485832706272;
constexpr double kLobe = 0.3;  // of the peak: above the first sidelobes of any usual weighting

using Quadratic = std::array<double, 3>;  ///< a, b, c of q = a l^2 + 2 b l m + c m^2, units of 1/cell^2

struct Sample {
  double l, m, value;  ///< l east and m north in units of the cell in x
};

/// q of a beam: q = 1/4 at half maximum, that is (x'/major)^2 + (y'/minor)^2.
Quadratic quadratic_of(const RestoringBeam& beam, double unit_rad) {
  const double s = std::sin(beam.position_angle_rad), c = std::cos(beam.position_angle_rad);
  const double major = unit_rad * unit_rad / (beam.major_rad * beam.major_rad);
  const double minor = unit_rad * unit_rad / (beam.minor_rad * beam.minor_rad);
  return {major * s * s + minor * c * c, (major - minor) * s * c, major * c * c + minor * s * s};
}

RestoringBeam beam_of(const Quadratic& q, double unit_rad) {
  const double mean = 0.5 * (q[0] + q[2]), half = 0.5 * (q[0] - q[2]), spread = std::hypot(half, q[1]);
  RestoringBeam beam;
  beam.major_rad = unit_rad / std::sqrt(mean - spread);
  beam.minor_rad = unit_rad / std::sqrt(mean + spread);
  // Along (l, m) = (sin t, cos t), q = mean - half cos 2t + b sin 2t: smallest on the major axis.
  if (spread > 1e-12 * mean) beam.position_angle_rad = 0.5 * std::atan2(-q[1], half);
  return beam;
}

/// The connected main lobe, as offsets from the centre.
std::vector<Sample> main_lobe(View<const double, 2> psf, const CellSize& cell) {
  const std::size_t ny = psf.extent(0), nx = psf.extent(1), cy = ny / 2, cx = nx / 2;
  const double peak = psf(cy, cx);
  if (!(peak > 0)) throw FailureError("the PSF is {} at its centre: not a PSF", peak);
  std::vector<bool> taken(nx * ny, false);
  std::vector<Sample> samples;
  std::vector<std::array<std::size_t, 2>> open;
  auto take = [&](std::size_t y, std::size_t x) {
    if (taken[y * nx + x]) return;
    taken[y * nx + x] = true;
    samples.push_back({static_cast<double>(cx) - static_cast<double>(x),
                       (static_cast<double>(y) - static_cast<double>(cy)) * cell.y_rad / cell.x_rad,
                       psf(y, x) / peak});
    open.push_back({y, x});
  };
  take(cy, cx);
  while (!open.empty()) {
    const auto [y, x] = open.back();
    open.pop_back();
    if (y == 0 || x == 0 || y + 1 == ny || x + 1 == nx)
      throw FailureError("the PSF's main lobe reaches the edge of its image: give the beam's size");
    for (const auto& [j, i] :
         std::array<std::array<std::size_t, 2>, 4>{{{y - 1, x}, {y + 1, x}, {y, x - 1}, {y, x + 1}}})
      if (psf(j, i) >= kLobe * peak) take(j, i);
  }
  if (samples.size() < 9)
    for (std::size_t y = cy - 1; y <= cy + 1; ++y)
      for (std::size_t x = cx - 1; x <= cx + 1; ++x) take(y, x);
  return samples;
}

struct Normal {
  std::array<std::array<double, 3>, 3> matrix{};
  std::array<double, 3> gradient{};
  double chi2 = 0;
};

Normal normal_equations(const std::vector<Sample>& samples, const Quadratic& q) {
  Normal normal;
  for (const Sample& s : samples) {
    const std::array<double, 3> basis{s.l * s.l, 2 * s.l * s.m, s.m * s.m};
    const double model = std::exp(-kFourLn2 * (q[0] * basis[0] + q[1] * basis[1] + q[2] * basis[2]));
    const double error = s.value - model;
    normal.chi2 += error * error;
    for (std::size_t i = 0; i < 3; ++i) {
      const double slope_i = -kFourLn2 * basis[i] * model;
      normal.gradient[i] += slope_i * error;
      for (std::size_t j = 0; j < 3; ++j) normal.matrix[i][j] += slope_i * -kFourLn2 * basis[j] * model;
    }
  }
  return normal;
}

/// Solves the damped 3 x 3 system by elimination with pivots; false when singular.
bool solve(const Normal& normal, double damping, std::array<double, 3>& step) {
  std::array<std::array<double, 4>, 3> rows;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) rows[i][j] = normal.matrix[i][j] * (i == j ? 1 + damping : 1);
    rows[i][3] = normal.gradient[i];
  }
  for (std::size_t k = 0; k < 3; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < 3; ++i)
      if (std::abs(rows[i][k]) > std::abs(rows[pivot][k])) pivot = i;
    std::swap(rows[k], rows[pivot]);
    if (!(std::abs(rows[k][k]) > 0)) return false;
    for (std::size_t i = 0; i < 3; ++i) {
      if (i == k) continue;
      const double factor = rows[i][k] / rows[k][k];
      for (std::size_t j = k; j < 4; ++j) rows[i][j] -= factor * rows[k][j];
    }
  }
  for (std::size_t i = 0; i < 3; ++i) step[i] = rows[i][3] / rows[i][i];
  return true;
}

bool is_ellipse(const Quadratic& q) {
  return q[0] > 0 && q[2] > 0 && q[0] * q[2] > q[1] * q[1];
}

}  // namespace

RestoringBeam fit_beam(View<const double, 2> psf, const CellSize& cell) {
  if (psf.extent(0) < 5 || psf.extent(1) < 5)
    throw FailureError("a PSF of {} x {} pixels is too small to fit a beam: give the beam's size",
                       psf.extent(1), psf.extent(0));
  const std::vector<Sample> samples = main_lobe(psf, cell);
  // Start from a circle with the lobe's area: value >= kLobe where 4 ln2 q <= -ln(kLobe).
  const double area = static_cast<double>(samples.size()) * cell.y_rad / cell.x_rad;
  const double start = -std::log(kLobe) / kFourLn2 * kPi / area;
  Quadratic q{start, 0, start};
  Normal normal = normal_equations(samples, q);
  double damping = 1e-3;
  for (int iteration = 0; iteration < 500 && damping < 1e12; ++iteration) {
    std::array<double, 3> step{};
    if (!solve(normal, damping, step)) break;
    const Quadratic next{q[0] + step[0], q[1] + step[1], q[2] + step[2]};
    if (!is_ellipse(next)) {
      damping *= 10;
      continue;
    }
    const Normal better = normal_equations(samples, next);
    if (better.chi2 > normal.chi2) {
      damping *= 10;
      continue;
    }
    const double change = std::max({std::abs(step[0]), std::abs(step[1]), std::abs(step[2])});
    q = next;
    normal = better;
    damping = std::max(damping / 10, 1e-12);
    if (change < 1e-15 * (q[0] + q[2])) break;
  }
  const RestoringBeam beam = beam_of(q, cell.x_rad);
  // Narrower than a cell, only the centre carries weight and the width is a guess.
  if (!(beam.minor_rad > std::min(cell.x_rad, cell.y_rad)) || !std::isfinite(beam.major_rad))
    throw FailureError(
        "the PSF's main lobe is not resolved by the cells: use smaller cells or give the beam's "
        "size");
  // A lobe that hardly falls off along one axis leaves that width open.
  if (beam.major_rad > std::hypot(static_cast<double>(psf.extent(1)) * cell.x_rad,
                                  static_cast<double>(psf.extent(0)) * cell.y_rad))
    throw FailureError("the PSF's main lobe is wider than its image: give the beam's size");
  return beam;
}

RestoringBeam parse_restoring_beam(std::string_view text) {
  std::vector<double> angles_rad;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    angles_rad.push_back(parse_angle(text.substr(at, end - at)));
    at = end + 1;
  }
  if (angles_rad.size() == 1) angles_rad = {angles_rad[0], angles_rad[0], 0};
  if (angles_rad.size() != 3 || !(angles_rad[1] > 0) || !(angles_rad[0] >= angles_rad[1]))
    throw UsageError("'{}': a beam is one angle, or MAJOR,MINOR,ANGLE such as 12asec,10asec,30deg", text);
  return {angles_rad[0], angles_rad[1], angles_rad[2]};
}

void restore(View<double, 2> image, View<const double, 2> model, const RestoringBeam& beam,
             const CellSize& cell, unsigned n_threads) {
  const auto ny = static_cast<std::ptrdiff_t>(image.extent(0)),
             nx = static_cast<std::ptrdiff_t>(image.extent(1));
  const Quadratic q = quadratic_of(beam, cell.x_rad);
  const double squeeze = cell.y_rad / cell.x_rad;
  // exp(-4 ln2 q) = 2^(-4 q) < 2^-60 beyond q = 15; the ellipse q = 15 spans these many cells.
  const double determinant = q[0] * q[2] - q[1] * q[1];
  const auto reach_x = std::min(nx - 1, static_cast<std::ptrdiff_t>(std::sqrt(15 * q[2] / determinant)));
  const auto reach_y =
      std::min(ny - 1, static_cast<std::ptrdiff_t>(std::sqrt(15 * q[0] / determinant) / squeeze));
  Buffer<double, 2> gaussian(
      {static_cast<std::size_t>(2 * reach_y + 1), static_cast<std::size_t>(2 * reach_x + 1)});
  for (std::ptrdiff_t j = -reach_y; j <= reach_y; ++j)
    for (std::ptrdiff_t i = -reach_x; i <= reach_x; ++i) {
      const double l = -static_cast<double>(i), m = static_cast<double>(j) * squeeze;
      gaussian(j + reach_y, i + reach_x) =
          std::exp(-kFourLn2 * (q[0] * l * l + 2 * q[1] * l * m + q[2] * m * m));
    }
  struct Source {
    std::ptrdiff_t x, y;
    double flux_jy;
  };
  std::vector<Source> sources;
  for (std::ptrdiff_t y = 0; y < ny; ++y)
    for (std::ptrdiff_t x = 0; x < nx; ++x)
      if (const double flux = model(y, x); flux != 0 && std::isfinite(flux)) sources.push_back({x, y, flux});
  // Each band of rows sums the sources in the same order, whoever takes it.
  constexpr std::ptrdiff_t kBand = 32;
  parallel_for(n_threads, static_cast<std::size_t>((ny + kBand - 1) / kBand),
               [&](std::size_t band, unsigned) {
                 const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(band) * kBand,
                                      last = std::min(ny, first + kBand);
                 for (const Source& source : sources) {
                   const std::ptrdiff_t x0 = std::max<std::ptrdiff_t>(0, source.x - reach_x);
                   const std::ptrdiff_t x1 = std::min(nx, source.x + reach_x + 1);
                   for (std::ptrdiff_t y = std::max(first, source.y - reach_y);
                        y < std::min(last, source.y + reach_y + 1); ++y) {
                     const double* kernel = &gaussian(y - source.y + reach_y, x0 - source.x + reach_x);
                     double* row = &image(y, x0);
                     for (std::ptrdiff_t x = 0; x < x1 - x0; ++x) row[x] += source.flux_jy * kernel[x];
                   }
                 }
               });
}

}  // namespace apsyn
