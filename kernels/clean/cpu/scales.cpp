// SPDX-License-Identifier: GPL-3.0-or-later
// The shapes of components.
#include <algorithm>
#include <cmath>

#include "kernels/clean/cpu/multiscale.h"
#include "libcore/base/constants.h"

namespace apsyn {

Buffer<float, 2> scale_kernel(double width_pixels) {
  if (width_pixels <= 0) {
    Buffer<float, 2> point({1, 1});
    point(0, 0) = 1;
    return point;
  }
  const auto half = static_cast<std::size_t>(std::ceil(width_pixels / 2));
  const std::size_t n = 2 * half + 1;
  Buffer<double, 2> shape({n, n});
  double sum = 0;
  for (std::size_t y = 0; y < n; ++y)
    for (std::size_t x = 0; x < n; ++x) {
      const double r = std::hypot(static_cast<double>(y) - static_cast<double>(half),
                                  static_cast<double>(x) - static_cast<double>(half));
      if (2 * r > static_cast<double>(n) + 1) continue;
      const double window = 0.5 + 0.5 * std::cos(2 * kPi * r / (static_cast<double>(n) + 1));
      shape(y, x) = window * (1 - r * r / (width_pixels * width_pixels));
      sum += shape(y, x);
    }
  Buffer<float, 2> kernel({n, n});
  for (std::size_t i = 0; i < kernel.size(); ++i)
    kernel.data()[i] = static_cast<float>(shape.data()[i] / sum);
  return kernel;
}

void add_kernel(View<float, 2> image, View<const float, 2> kernel, std::size_t x, std::size_t y, float flux) {
  const auto half_y = static_cast<std::ptrdiff_t>(kernel.extent(0) / 2),
             half_x = static_cast<std::ptrdiff_t>(kernel.extent(1) / 2);
  for (std::size_t j = 0; j < kernel.extent(0); ++j) {
    const auto row = static_cast<std::ptrdiff_t>(y + j) - half_y;
    if (row < 0 || row >= static_cast<std::ptrdiff_t>(image.extent(0))) continue;
    for (std::size_t i = 0; i < kernel.extent(1); ++i) {
      const auto column = static_cast<std::ptrdiff_t>(x + i) - half_x;
      if (column >= 0 && column < static_cast<std::ptrdiff_t>(image.extent(1)))
        image(row, column) += flux * kernel(j, i);
    }
  }
}

std::vector<double> automatic_scales(double beam_pixels, std::size_t shorter_side, std::size_t max_scales) {
  std::vector<double> widths{0};
  for (double width = 4 * beam_pixels; width > 0 && width < 0.5 * static_cast<double>(shorter_side);
       width *= 2) {
    if (max_scales != 0 && widths.size() == max_scales) break;
    widths.push_back(width);
  }
  return widths;
}

double scale_bias(double width_pixels, double bias, double beam_pixels) {
  return width_pixels <= 0 ? 1 : std::pow(bias, -1 - std::log2(width_pixels / (4 * beam_pixels)));
}

std::vector<CleanScale> make_scales(const DeconvolutionSettings& settings, double beam_pixels,
                                    std::size_t shorter_side) {
  std::vector<double> widths = settings.scales_pixels;
  if (widths.empty()) widths = automatic_scales(beam_pixels, shorter_side, settings.max_scales);
  std::vector<CleanScale> scales;
  for (const double width : widths)
    scales.push_back({width, scale_bias(width, settings.scale_bias, beam_pixels), scale_kernel(width)});
  return scales;
}

std::size_t scale_reach(const std::vector<CleanScale>& scales) {
  std::size_t reach = 0;
  for (const CleanScale& scale : scales)
    reach = std::max(reach, static_cast<std::size_t>(scale.width_pixels / 2) + 1);
  return reach;
}

}  // namespace apsyn
