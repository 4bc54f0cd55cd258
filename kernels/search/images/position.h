// SPDX-License-Identifier: GPL-3.0-or-later
// Where a pulse is between pixels, and how wide the beam is.
#pragma once

#include <optional>

#include "libcore/base/view.h"

namespace apsyn {

struct PixelPosition {
  double x = 0, y = 0;
};

/// The peak of the paraboloid through the logarithms of 3 x 3 values, each weighted with its square as noise
/// of the values asks for; exact for a Gaussian. Counted from the middle pixel. Empty where it is no peak or
/// lies more than a pixel away, and for values that are not finite.
std::optional<PixelPosition> fit_peak(View<const double, 2> values);

/// Full width at half maximum of the correlation between pixels of images [image][y][x] of noise, which is
/// the beam's shape: of both axes the wider one, in pixels, 1 to 64. NaN pixels are left out.
double noise_correlation_pixels(View<const float, 3> images);

}  // namespace apsyn
