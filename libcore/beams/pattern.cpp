// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/beams/pattern.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace apsyn {
namespace {

/// Weights of the pixels before, at, behind and two behind a point `t` of the way to the next.
std::array<double, 4> keys(double t) {
  return {t * (t * (1 - 0.5 * t) - 0.5), 1 + t * t * (1.5 * t - 2.5), t * (0.5 + t * (2 - 1.5 * t)),
          t * t * (0.5 * t - 0.5)};
}

}  // namespace

Jones VoltagePattern::at(double x, double y, double hz) const {
  const double pixel_x = (x - first_x) / step_x, pixel_y = (y - first_y) / step_y;
  const auto n_x = static_cast<std::ptrdiff_t>(values.extent(2)),
             n_y = static_cast<std::ptrdiff_t>(values.extent(1));
  if (!(pixel_x >= 0 && pixel_x <= static_cast<double>(n_x - 1) && pixel_y >= 0 &&
        pixel_y <= static_cast<double>(n_y - 1)))
    return {};
  const auto above = std::upper_bound(freq_hz.begin(), freq_hz.end(), hz) - freq_hz.begin();
  const auto low = static_cast<std::size_t>(std::max<std::ptrdiff_t>(above - 1, 0));
  const std::size_t high = std::min(low + 1, freq_hz.size() - 1);
  const double share =
      high == low ? 0 : std::clamp((hz - freq_hz[low]) / (freq_hz[high] - freq_hz[low]), 0.0, 1.0);
  const auto left = static_cast<std::ptrdiff_t>(std::floor(pixel_x)),
             below = static_cast<std::ptrdiff_t>(std::floor(pixel_y));
  const auto weight_x = keys(pixel_x - static_cast<double>(left)),
             weight_y = keys(pixel_y - static_cast<double>(below));
  Jones jones{};
  for (std::ptrdiff_t j = 0; j < 4; ++j)
    for (std::ptrdiff_t i = 0; i < 4; ++i) {
      const double weight = weight_y[static_cast<std::size_t>(j)] * weight_x[static_cast<std::size_t>(i)];
      const auto column = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(left - 1 + i, 0, n_x - 1)),
                 row = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(below - 1 + j, 0, n_y - 1));
      for (std::size_t k = 0; k < 4; ++k)
        jones[k] += weight * ((1 - share) * std::complex<double>(values(low, row, column, k)) +
                              share * std::complex<double>(values(high, row, column, k)));
    }
  return jones;
}

}  // namespace apsyn
