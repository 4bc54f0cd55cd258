// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/measure/measure.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <utility>

#include "libcore/base/median.h"

namespace apsyn {
namespace {

/// Sweeps over all sources; overlaps within a beam settle in a few.
constexpr int kSweeps = 6;
constexpr int kSteps = 40;
/// d^T C^-1 d at the half maximum: f = 1/2 where the quadratic form is 2 ln 2.
constexpr double kHalfMaximum = 2.0 * std::numbers::ln2;
/// Beyond this a neighbour's Gaussian is below 1e-8 of its peak.
constexpr double kNegligible = 37.0;

double determinant(const PixelCovariance& c) {
  return c.xx * c.yy - c.xy * c.xy;
}

struct Gaussian {
  double peak = 0, x = 0, y = 0;
  PixelCovariance inverse;

  double form(double px, double py) const {
    const double dx = px - x, dy = py - y;
    return inverse.xx * dx * dx + 2 * inverse.xy * dx * dy + inverse.yy * dy * dy;
  }
  double operator()(double px, double py) const {
    const double q = form(px, py);
    return q > kNegligible ? 0.0 : peak * std::exp(-0.5 * q);
  }
};

struct Pixel {
  double x, y, value;
};

PixelCovariance inverse_of(const PixelCovariance& c) {
  const double det = determinant(c);
  return {c.yy / det, -c.xy / det, c.xx / det};
}

/// The finite pixels where the quadratic form around (x, y) is below `limit`.
template <class Use>
void for_pixels(View<const double, 2> image, const Gaussian& shape, const PixelCovariance& c, double limit,
                Use use) {
  const double reach_x = std::sqrt(limit * c.xx), reach_y = std::sqrt(limit * c.yy);
  const auto first = [](double at) { return static_cast<long>(std::max(0.0, std::ceil(at))); };
  const auto last = [](double at, std::size_t n) {
    return static_cast<long>(std::min(static_cast<double>(n) - 1.0, std::floor(at)));
  };
  for (long y = first(shape.y - reach_y); y <= last(shape.y + reach_y, image.extent(0)); ++y)
    for (long x = first(shape.x - reach_x); x <= last(shape.x + reach_x, image.extent(1)); ++x) {
      const double value = image(y, x);
      if (std::isfinite(value) && shape.form(x, y) <= limit)
        use(Pixel{static_cast<double>(x), static_cast<double>(y), value});
    }
}

double squared_residual(const std::vector<Pixel>& pixels, const Gaussian& g) {
  double sum = 0;
  for (const Pixel& p : pixels) sum += std::pow(p.value - g(p.x, p.y), 2);
  return sum;
}

/// One Gauss-Newton step for (peak, x, y), or zeros when the normal equations are singular.
std::array<double, 3> newton_step(const std::vector<Pixel>& pixels, const Gaussian& g) {
  double a[3][4] = {};
  for (const Pixel& p : pixels) {
    const double dx = p.x - g.x, dy = p.y - g.y;
    const double unit = std::exp(-0.5 * g.form(p.x, p.y));
    const double slope[3] = {unit, g.peak * unit * (g.inverse.xx * dx + g.inverse.xy * dy),
                             g.peak * unit * (g.inverse.xy * dx + g.inverse.yy * dy)};
    const double residual = p.value - g.peak * unit;
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) a[i][j] += slope[i] * slope[j];
      a[i][3] += slope[i] * residual;
    }
  }
  for (int i = 0; i < 3; ++i) {  // Gauss-Jordan; the matrix is symmetric and positive
    if (!(a[i][i] > 0)) return {};
    for (int k = 0; k < 3; ++k) {
      if (k == i) continue;
      const double factor = a[k][i] / a[i][i];
      for (int j = i; j < 4; ++j) a[k][j] -= factor * a[i][j];
    }
  }
  return {a[0][3] / a[0][0], a[1][3] / a[1][1], a[2][3] / a[2][2]};
}

Gaussian fit(const std::vector<Pixel>& pixels, Gaussian g) {
  double badness = squared_residual(pixels, g);
  for (int step = 0; step < kSteps; ++step) {
    auto move = newton_step(pixels, g);
    bool better = false;
    for (int halving = 0; halving < 20 && !better; ++halving) {
      Gaussian next = g;
      next.peak += move[0], next.x += move[1], next.y += move[2];
      const double next_badness = squared_residual(pixels, next);
      better = next_badness < badness;
      if (better) g = next, badness = next_badness;
      for (double& component : move) component /= 2;
    }
    if (!better) break;
  }
  return g;
}

}  // namespace

PixelCovariance pixel_covariance(const RestoringBeam& shape, double cell_rad) {
  const double per_fwhm = 1.0 / (std::sqrt(8.0 * std::numbers::ln2) * cell_rad);
  const double major = std::pow(shape.major_rad * per_fwhm, 2),
               minor = std::pow(shape.minor_rad * per_fwhm, 2);
  const double x = -std::sin(shape.position_angle_rad), y = std::cos(shape.position_angle_rad);
  return {major * x * x + minor * y * y, (major - minor) * x * y, major * y * y + minor * x * x};
}

std::vector<MeasuredSource> measure_sources(View<const double, 2> image, const PixelCovariance& beam,
                                            const std::vector<ExpectedSource>& sources) {
  if (!(determinant(beam) > 0)) throw std::invalid_argument("measure_sources: the beam has no area");
  std::vector<MeasuredSource> results(sources.size());
  std::vector<Gaussian> gaussians(sources.size()), starts(sources.size());
  std::vector<PixelCovariance> shapes(sources.size());

  for (std::size_t i = 0; i < sources.size(); ++i) {
    const ExpectedSource& source = sources[i];
    shapes[i] = {beam.xx + source.size.xx, beam.xy + source.size.xy, beam.yy + source.size.yy};
    Gaussian expected{0, source.x, source.y, inverse_of(shapes[i])};
    Gaussian start = expected;
    start.peak = -std::numeric_limits<double>::infinity();
    for_pixels(image, expected, shapes[i], 2 * kHalfMaximum, [&](const Pixel& p) {
      if (p.value > start.peak) start.peak = p.value, start.x = p.x, start.y = p.y;
    });
    if (!std::isfinite(start.peak)) continue;
    results[i].state = FitState::found;
    gaussians[i] = starts[i] = start;
  }

  for (int sweep = 0; sweep < kSweeps; ++sweep)
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (results[i].state != FitState::found) continue;
      std::vector<Pixel> pixels;
      for_pixels(image, starts[i], shapes[i], kHalfMaximum, [&](Pixel p) {
        for (std::size_t k = 0; k < sources.size(); ++k)
          if (k != i && results[k].state == FitState::found) p.value -= gaussians[k](p.x, p.y);
        pixels.push_back(p);
      });
      gaussians[i] = fit(pixels, gaussians[i]);
    }

  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (results[i].state != FitState::found) continue;
    const Gaussian& g = gaussians[i];
    MeasuredSource& result = results[i];
    result.x = g.x, result.y = g.y, result.peak = g.peak;
    result.flux = g.peak * std::sqrt(determinant(shapes[i]) / determinant(beam));
    const double radius = std::sqrt(kHalfMaximum * std::max(shapes[i].xx, shapes[i].yy)) + 1;
    const bool near = std::hypot(g.x - starts[i].x, g.y - starts[i].y) <= radius;
    if (!near || !(g.peak > 0)) result.state = FitState::failed;
  }
  return results;
}

double robust_rms(View<const double, 2> image) {
  std::vector<double> values;
  for (double value : image)
    if (std::isfinite(value)) values.push_back(value);
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double centre = median_of(values);
  return robust_spread(std::move(values), centre);
}

}  // namespace apsyn
