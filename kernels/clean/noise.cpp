// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/noise.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "libcore/base/median.h"
#include "libcore/system/parallel.h"

namespace apsyn {

double robust_sigma(View<const float, 2> image) {
  // An odd step comes past all columns of images whose width is a power of 2.
  const std::size_t step = (image.size() >> 20) | 1;
  std::vector<float> values;
  values.reserve(image.size() / step + 1);
  for (std::size_t i = 0; i < image.size(); i += step)
    if (const float value = image.data()[i]; std::isfinite(value)) values.push_back(value);
  if (values.empty()) return 0;
  const float centre = median_of(values);
  return static_cast<double>(robust_spread(std::move(values), centre));
}

namespace {

/// robust_sigma of a box of `width` around (y, x), cut at the edges.
float box_sigma(View<const float, 2> image, std::size_t y, std::size_t x, std::size_t width) {
  const std::size_t half = width / 2;
  const std::size_t y0 = y - std::min(y, half), y1 = std::min(image.extent(0), y + half + 1);
  const std::size_t x0 = x - std::min(x, half), x1 = std::min(image.extent(1), x + half + 1);
  Buffer<float, 2> box({y1 - y0, x1 - x0});
  for (std::size_t j = y0; j < y1; ++j) std::copy(&image(j, x0), &image(j, x0) + (x1 - x0), &box(j - y0, 0));
  return static_cast<float>(robust_sigma(View<const float, 2>(box)));
}

}  // namespace

Buffer<float, 2> local_noise(View<const float, 2> image, std::size_t width, unsigned n_threads) {
  const std::size_t ny = image.extent(0), nx = image.extent(1), step = std::max<std::size_t>(1, width / 2);
  const std::size_t n_row = (ny - 1) / step + 2, n_column = (nx - 1) / step + 2;
  Buffer<float, 2> nodes({n_row, n_column});
  parallel_for(n_threads, nodes.size(), [&](std::size_t i, unsigned) {
    nodes.data()[i] =
        box_sigma(image, std::min(ny - 1, i / n_column * step), std::min(nx - 1, i % n_column * step), width);
  });
  double sum = 0;
  std::size_t n_known = 0;
  for (const float sigma : nodes)
    if (sigma > 0) {
      sum += static_cast<double>(sigma);
      ++n_known;
    }
  const float mean = n_known == 0 ? 0 : static_cast<float>(sum / static_cast<double>(n_known));
  for (float& sigma : nodes)
    if (!(sigma > 0)) sigma = mean;
  Buffer<float, 2> noise({ny, nx});
  parallel_for(n_threads, ny, [&](std::size_t y, unsigned) {
    const std::size_t j = y / step;
    const float v = static_cast<float>(y % step) / static_cast<float>(step);
    for (std::size_t x = 0; x < nx; ++x) {
      const std::size_t i = x / step;
      const float u = static_cast<float>(x % step) / static_cast<float>(step);
      noise(y, x) = (1 - v) * ((1 - u) * nodes(j, i) + u * nodes(j, i + 1)) +
                    v * ((1 - u) * nodes(j + 1, i) + u * nodes(j + 1, i + 1));
    }
  });
  return noise;
}

}  // namespace apsyn
