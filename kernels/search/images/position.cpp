// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/search/images/position.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace apsyn {
namespace {

/// Part of the middle pixel that others are taken to have at least.
constexpr double kSmallest = 0.03;

/// Coefficients of 1, x, y, x^2, y^2 and x y.
constexpr std::size_t kTerms = 6;

/// Solves a symmetric positive definite system in place by elimination; false where it is singular.
bool solve(std::array<std::array<double, kTerms>, kTerms>& matrix, std::array<double, kTerms>& right) {
  for (std::size_t i = 0; i < kTerms; ++i) {
    if (!(matrix[i][i] > 1e-12)) return false;
    for (std::size_t row = i + 1; row < kTerms; ++row) {
      const double factor = matrix[row][i] / matrix[i][i];
      for (std::size_t j = i; j < kTerms; ++j) matrix[row][j] -= factor * matrix[i][j];
      right[row] -= factor * right[i];
    }
  }
  for (std::size_t i = kTerms; i-- > 0;) {
    for (std::size_t j = i + 1; j < kTerms; ++j) right[i] -= matrix[i][j] * right[j];
    right[i] /= matrix[i][i];
  }
  return true;
}

}  // namespace

std::optional<PixelPosition> fit_peak(View<const double, 2> values) {
  const double middle = values(1, 1);
  if (!(middle > 0) || !std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); }))
    return std::nullopt;
  std::array<std::array<double, kTerms>, kTerms> matrix{};
  std::array<double, kTerms> f{};
  for (int y = -1; y <= 1; ++y)
    for (int x = -1; x <= 1; ++x) {
      // what noise makes small or negative weighs little: an error of v is one of log v divided by v
      const double v = std::max(
          values(static_cast<std::size_t>(y + 1), static_cast<std::size_t>(x + 1)) / middle, kSmallest);
      const std::array<double, kTerms> term{1, 1.0 * x, 1.0 * y, 1.0 * x * x, 1.0 * y * y, 1.0 * x * y};
      for (std::size_t i = 0; i < kTerms; ++i) {
        for (std::size_t j = 0; j < kTerms; ++j) matrix[i][j] += v * v * term[i] * term[j];
        f[i] += v * v * std::log(v) * term[i];
      }
    }
  if (!solve(matrix, f)) return std::nullopt;
  const double determinant = 4 * f[3] * f[4] - f[5] * f[5];
  if (!(f[3] < 0 && f[4] < 0 && determinant > 0)) return std::nullopt;
  const PixelPosition peak{(f[5] * f[2] - 2 * f[4] * f[1]) / determinant,
                           (f[5] * f[1] - 2 * f[3] * f[2]) / determinant};
  if (!(std::abs(peak.x) <= 1 && std::abs(peak.y) <= 1)) return std::nullopt;
  return peak;
}

double noise_correlation_pixels(View<const float, 3> images) {
  constexpr std::size_t kMaxLag = 32;
  const std::size_t n_image = images.extent(0), ny = images.extent(1), nx = images.extent(2);
  double widest = 1;
  for (const bool along_x : {true, false}) {
    const auto correlation = [&](std::size_t lag) {
      double sum = 0, n = 0;
      for (std::size_t image = 0; image < n_image; ++image)
        for (std::size_t y = 0; y + (along_x ? 0 : lag) < ny; ++y)
          for (std::size_t x = 0; x + (along_x ? lag : 0) < nx; ++x) {
            const auto product =
                static_cast<double>(images(image, y, x)) *
                static_cast<double>(images(image, y + (along_x ? 0 : lag), x + (along_x ? lag : 0)));
            if (std::isnan(product)) continue;
            sum += product, n += 1;
          }
      return n > 0 ? sum / n : std::numeric_limits<double>::quiet_NaN();
    };
    const double square = correlation(0);
    if (!(square > 0)) continue;
    double width = 2.0 * kMaxLag, before = 1;
    for (std::size_t lag = 1; lag <= std::min(kMaxLag, (along_x ? nx : ny) - 1); ++lag) {
      const double r = correlation(lag) / square;
      if (std::isnan(r)) break;
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
