// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/search/images/position.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace apsyn {

std::optional<PixelPosition> fit_peak(View<const double, 2> values) {
  std::array<double, 9> f;
  std::copy(values.begin(), values.end(), f.begin());
  if (!std::all_of(f.begin(), f.end(), [](double v) { return std::isfinite(v); })) return std::nullopt;
  if (!(f[4] > 0)) return std::nullopt;
  if (*std::min_element(f.begin(), f.end()) > 0.1 * f[4])
    for (double& v : f) v = std::log(v);
  // f = a + b x + c y + d x^2 + e y^2 + g x y on x, y = -1, 0, 1; sums of products are orthogonal but for a
  double b = 0, c = 0, d = 0, e = 0, g = 0;
  for (int y = -1; y <= 1; ++y)
    for (int x = -1; x <= 1; ++x) {
      const double v = f[static_cast<std::size_t>(3 * (y + 1) + x + 1)];
      b += x * v / 6, c += y * v / 6, g += x * y * v / 4;
      d += (x * x - 2.0 / 3) * v / 2, e += (y * y - 2.0 / 3) * v / 2;
    }
  const double determinant = 4 * d * e - g * g;
  if (!(d < 0 && e < 0 && determinant > 0)) return std::nullopt;
  const PixelPosition peak{(g * c - 2 * e * b) / determinant, (g * b - 2 * d * c) / determinant};
  if (!(std::abs(peak.x) <= 1.5 && std::abs(peak.y) <= 1.5)) return std::nullopt;
  return peak;
}

double noise_correlation_pixels(View<const float, 3> images) {
  constexpr std::size_t kMaxLag = 32;
  const std::size_t n_image = images.extent(0), ny = images.extent(1), nx = images.extent(2);
  double widest = 1;
  for (const bool along_x : {true, false}) {
    std::array<double, kMaxLag + 1> sum{}, n{};
    for (std::size_t image = 0; image < n_image; ++image)
      for (std::size_t lag = 0; lag <= std::min(kMaxLag, (along_x ? nx : ny) - 1); ++lag)
        for (std::size_t y = 0; y + (along_x ? 0 : lag) < ny; ++y)
          for (std::size_t x = 0; x + (along_x ? lag : 0) < nx; ++x) {
            const auto product =
                static_cast<double>(images(image, y, x)) *
                static_cast<double>(images(image, y + (along_x ? 0 : lag), x + (along_x ? lag : 0)));
            if (std::isnan(product)) continue;
            sum[lag] += product, n[lag] += 1;
          }
    if (!(sum[0] > 0)) continue;
    double width = 2.0 * kMaxLag, before = 1;
    for (std::size_t lag = 1; lag <= kMaxLag && n[lag] > 0; ++lag) {
      const double r = sum[lag] / n[lag] / (sum[0] / n[0]);
      if (r < 0.5) {
        width = 2 * (static_cast<double>(lag) - 1 + (before - 0.5) / (before - r));
        break;
      }
      before = r;
    }
    widest = std::max(widest, std::min(width, 2.0 * kMaxLag));
  }
  return widest;
}

}  // namespace apsyn
