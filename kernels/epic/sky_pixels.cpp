// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/sky_pixels.h"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <utility>

#include "libcore/system/parallel.h"

namespace apsyn {

SkyPixels sky_pixels(const EpicPlan& plan, const EpicGeometry& geometry) {
  const std::size_t width = plan.width(), height = plan.height();
  std::vector<std::vector<std::uint32_t>> index(height);
  std::vector<std::vector<Vec3>> units(height);
  parallel_for(plan.n_threads, height, [&](std::size_t y, unsigned) {
    for (std::size_t x = 0; x < width; ++x) {
      const Vec3 unit = plan.n_direction > 0 ? geometry.directions[x] : epic_direction(plan, geometry, x, y);
      if (!(unit[2] > 0)) continue;
      index[y].push_back(static_cast<std::uint32_t>(y * width + x));
      units[y].push_back(unit);
    }
  });
  std::vector<std::size_t> first(height + 1, 0);
  for (std::size_t y = 0; y < height; ++y) first[y + 1] = first[y] + units[y].size();
  SkyPixels pixels;
  pixels.index.resize(first[height]);
  pixels.unit.resize_for_overwrite({first[height], 3});
  parallel_for(plan.n_threads, height, [&](std::size_t y, unsigned) {
    std::copy(index[y].begin(), index[y].end(), pixels.index.begin() + static_cast<std::ptrdiff_t>(first[y]));
    for (std::size_t i = 0; i < units[y].size(); ++i)
      for (std::size_t axis = 0; axis < 3; ++axis) pixels.unit(first[y] + i, axis) = units[y][i][axis];
  });
  return pixels;
}

bool same_geometry(const EpicGeometry& a, const EpicGeometry& b) {
  return a.enu_m == b.enu_m && a.delay_s == b.delay_s && a.axes == b.axes && a.directions == b.directions;
}

void check_epic_geometry(const EpicPlan& plan, const EpicGeometry& geometry) {
  if (geometry.enu_m.size() != plan.n_ant || geometry.delay_s.size() != plan.n_ant ||
      geometry.directions.size() != plan.n_direction)
    throw std::logic_error("DirectImager: a geometry of other lengths than planned");
}

void finish_images(const EpicPlan& plan, const EpicWeights& weights, const SkyPixels& pixels,
                   const std::vector<EpicValues>& autos, View<const double, 3> sums, EpicImages& images) {
  const std::size_t n_channel = plan.n_image_channel();
  images.planes.resize_for_overwrite({n_channel, plan.n_plane(), plan.height(), plan.width()});
  images.weight.resize(n_channel);
  images.n_spectra = weights.n_spectra();
  for (std::size_t channel = 0; channel < n_channel; ++channel)
    images.weight[channel] = weights.share(channel);
  const bool wanted[4] = {plan.first, plan.second, plan.cross, plan.cross};
  parallel_for(plan.n_threads, n_channel, [&](std::size_t channel, unsigned) {
    const View<float, 3> planes = images.planes.view()[channel];
    std::fill(planes.begin(), planes.end(), std::numeric_limits<float>::quiet_NaN());
    const double pairs = weights.sum(channel);
    if (!(pairs > 0)) return;
    std::size_t n_plane = 0;
    std::array<std::pair<std::size_t, float*>, 4> made;  // value and plane
    for (std::size_t value = 0; value < 4; ++value)
      if (wanted[value]) {
        made[n_plane] = {value, &planes(n_plane, 0, 0)};
        ++n_plane;
      }
    for (std::size_t pixel = 0; pixel < pixels.size(); ++pixel) {
      const double* from = &sums(channel, pixel, 0);
      for (std::size_t plane = 0; plane < n_plane; ++plane) {
        const auto& [value, to] = made[plane];
        to[pixels.index[pixel]] = static_cast<float>((from[value] - autos[channel][value]) / pairs);
      }
    }
  });
}

}  // namespace apsyn
