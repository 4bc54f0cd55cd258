// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/beamform/tiling.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"

namespace apsyn {

namespace {

double power(const std::vector<Vec2>& positions, const Vec2& x) {
  std::complex<double> sum = 0;
  for (const Vec2& r : positions) sum += std::polar(1.0, kTwoPi * (r[0] * x[0] + r[1] * x[1]));
  return std::norm(sum / static_cast<double>(positions.size()));
}

/// Rows of C^(-1/2) from the eigenvectors of the symmetric C, eigenvalues not below `least`.
std::array<Vec2, 2> inverse_root(double xx, double xy, double yy, double least) {
  const double mean = (xx + yy) / 2, half = (xx - yy) / 2, radius = std::hypot(half, xy);
  const double angle = radius > 0 ? std::atan2(xy, half) / 2 : 0;
  const double major = 1 / std::sqrt(std::max(mean + radius, least));
  const double minor = 1 / std::sqrt(std::max(mean - radius, least));
  const double c = std::cos(angle), s = std::sin(angle);
  return {{{major * c * c + minor * s * s, (major - minor) * c * s},
           {(major - minor) * c * s, major * s * s + minor * c * c}}};
}

}  // namespace

std::vector<Vec2> tile_field(const std::vector<Vec2>& positions, double radius, double overlap,
                             std::size_t most) {
  Vec2 mean{};
  const auto n = static_cast<double>(positions.size());
  for (const Vec2& r : positions) mean = {mean[0] + r[0] / n, mean[1] + r[1] / n};
  double xx = 0, xy = 0, yy = 0;
  for (const Vec2& r : positions) {
    xx += (r[0] - mean[0]) * (r[0] - mean[0]) / n;
    xy += (r[0] - mean[0]) * (r[1] - mean[1]) / n;
    yy += (r[1] - mean[1]) * (r[1] - mean[1]) / n;
  }
  // where a Gaussian of the same curvature has its neighbours
  const double guess = std::sqrt(std::log(1 / overlap)) / kPi;
  const double least = guess / (4 * radius);
  const auto root = inverse_root(xx, xy, yy, least * least);
  const auto direction = [&](double p, double q) {  // of the lattice a = (1, 0), b = (1/2, sqrt(3)/2)
    const double y0 = p + q / 2, y1 = q * std::sqrt(0.75);
    return Vec2{root[0][0] * y0 + root[0][1] * y1, root[1][0] * y0 + root[1][1] * y1};
  };
  const auto at_middle = [&](double spacing) {
    double worst = 1;
    for (const auto& [p, q] : {std::pair{1.0, 0.0}, {0.0, 1.0}, {-1.0, 1.0}}) {
      const Vec2 x = direction(p * spacing / 2, q * spacing / 2);
      worst = std::min(worst, power(positions, x));
    }
    return worst;
  };
  double low = 0, high = guess / 16;
  while (at_middle(high) > overlap && high < 4 * guess) {
    low = high;
    high += guess / 16;
  }
  for (int step = 0; step < 50; ++step) {
    const double middle = (low + high) / 2;
    (at_middle(middle) > overlap ? low : high) = middle;
  }
  // the lattice within a rectangle that holds the field in any skew
  const double spacing = low;
  const double longest = std::hypot(std::hypot(root[0][0], root[0][1]), std::hypot(root[1][0], root[1][1]));
  const double det = root[0][0] * root[1][1] - root[0][1] * root[1][0];
  const double reach = 2 * radius * longest / (std::abs(det) * spacing) + 1;
  const double cells = radius * radius * kPi / (std::abs(det) * spacing * spacing * std::sqrt(0.75));
  if (!(cells < 1.5 * static_cast<double>(most)) || !(reach < 3e3))
    throw UsageError("--tile: about {:.3g} beams are needed: give a smaller field or --overlap", cells);
  const auto edge = static_cast<long>(std::ceil(reach));
  std::vector<Vec2> beams;
  for (long p = -edge; p <= edge; ++p)
    for (long q = -edge; q <= edge; ++q) {
      const Vec2 x = direction(static_cast<double>(p) * spacing, static_cast<double>(q) * spacing);
      if (x[0] * x[0] + x[1] * x[1] <= radius * radius) beams.push_back(x);
    }
  std::sort(beams.begin(), beams.end(), [](const Vec2& a, const Vec2& b) {
    const double ra = std::round(1e9 * std::hypot(a[0], a[1])), rb = std::round(1e9 * std::hypot(b[0], b[1]));
    return ra != rb ? ra < rb : std::atan2(a[0], a[1]) < std::atan2(b[0], b[1]);
  });
  if (beams.size() > most)
    throw UsageError("--tile: {} beams are needed: give a smaller field or --overlap", beams.size());
  return beams;
}

}  // namespace apsyn
