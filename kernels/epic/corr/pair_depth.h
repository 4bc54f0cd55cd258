// SPDX-License-Identifier: GPL-3.0-or-later
// Extents of antennas and pixels along the axis of an image, for `corr` on a grid, which expands the phase of
// w.
#pragma once

#include <array>
#include <vector>

#include "kernels/epic/sky_pixels.h"

namespace apsyn {

struct PairDepth {
  double w_s = 0;                   ///< the largest |w| of a pair
  double n_middle = 0, n_half = 0;  ///< of the pixels: n = n_middle +- n_half
};
PairDepth depth_of(const EpicGeometry& geometry, const SkyPixels& pixels);

/// u, v, w of each antenna over c.
std::vector<std::array<double, 3>> image_frame_s(const EpicGeometry& geometry);
/// n of a pixel: along the axis of the image.
double n_of(const EpicGeometry& geometry, const SkyPixels& pixels, std::size_t pixel);

}  // namespace apsyn
