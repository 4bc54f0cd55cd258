// SPDX-License-Identifier: GPL-3.0-or-later
// The noise of an image, and around every pixel.
#pragma once

#include "libcore/base/view.h"

namespace apsyn {

/// Standard deviation of a Gaussian from the median of |x - median(x)| over the finite values: 1.4826 MAD. 0
/// when there are none. Of images of more than a million pixels about a million, evenly spread, are taken.
double robust_sigma(View<const float, 2> image, unsigned n_threads = 1);

/// robust_sigma [y][x] within boxes of `width` pixels, half a width apart, linear in between. Pixels that are
/// not finite do not count; a box without any, or without noise, takes the mean of the boxes that have some.
Buffer<float, 2> local_noise(View<const float, 2> image, std::size_t width, unsigned n_threads);

}  // namespace apsyn
