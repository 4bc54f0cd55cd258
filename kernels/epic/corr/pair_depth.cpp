// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/corr/pair_depth.h"

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"

namespace apsyn {

std::vector<std::array<double, 3>> image_frame_s(const EpicGeometry& geometry) {
  std::vector<std::array<double, 3>> uvw;
  for (const Vec3& enu : geometry.enu_m) {
    const Vec3 at = multiply(geometry.axes, enu);
    uvw.push_back({at[0] / kSpeedOfLight_m_s, at[1] / kSpeedOfLight_m_s, at[2] / kSpeedOfLight_m_s});
  }
  return uvw;
}

double n_of(const EpicGeometry& geometry, const SkyPixels& pixels, std::size_t pixel) {
  double n = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) n += geometry.axes[2][axis] * pixels.unit(pixel, axis);
  return n;
}

PairDepth depth_of(const EpicGeometry& geometry, const SkyPixels& pixels) {
  PairDepth depth;
  double w_low = INFINITY, w_high = -INFINITY, n_low = 1, n_high = -1;
  for (const auto& uvw : image_frame_s(geometry)) {
    w_low = std::min(w_low, uvw[2]);
    w_high = std::max(w_high, uvw[2]);
  }
  for (std::size_t pixel = 0; pixel < pixels.size(); ++pixel) {
    const double n = n_of(geometry, pixels, pixel);
    n_low = std::min(n_low, n);
    n_high = std::max(n_high, n);
  }
  depth.w_s = w_high - w_low;
  if (n_high < n_low) return depth;
  depth.n_middle = (n_low + n_high) / 2;
  depth.n_half = (n_high - n_low) / 2;
  return depth;
}

}  // namespace apsyn
