// SPDX-License-Identifier: GPL-3.0-or-later
// Noise around every pixel.
#pragma once

#include "libcore/base/view.h"

namespace apsyn {

/// robust_sigma [y][x] within boxes of `width` pixels, half a width apart, linear in between. Pixels that are
/// not finite do not count; a box without any, or without noise, takes the mean of the boxes that have some.
Buffer<float, 2> local_noise(View<const float, 2> image, std::size_t width, unsigned n_threads);

}  // namespace apsyn
