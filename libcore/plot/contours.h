// SPDX-License-Identifier: GPL-3.0-or-later
// Lines of equal value by marching squares: straight across each square of four neighbouring values, its
// crossings interpolated linearly. A saddle is parted by the mean of its corners.
#pragma once

#include "libcore/base/view.h"
#include "libcore/plot/canvas.h"

namespace apsyn {

/// values [y][x] -> chained lines in indices (x, y), closed ones with their first point repeated. Squares
/// with a value that is not finite hold no line. Where a value equals the level it counts as above.
Paths contour_lines(View<const double, 2> values, double level);

}  // namespace apsyn
