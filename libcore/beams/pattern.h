// SPDX-License-Identifier: GPL-3.0-or-later
// A voltage pattern on a grid of offsets from where a dish points.
#pragma once

#include <complex>
#include <vector>

#include "libcore/base/view.h"
#include "libcore/beams/jones.h"

namespace apsyn {

/// [frequency][y][x][XX XY YX YY]; pixel x lies at first_x + x step_x, in direction cosines.
struct VoltagePattern {
  double first_x = 0, step_x = 0, first_y = 0, step_y = 0;
  std::vector<double> freq_hz;  ///< rising
  Buffer<std::complex<float>, 4> values;

  /// By cubic convolution in space (Keys 1981, a = -1/2), linearly in frequency, whose ends are held; 0
  /// beyond the edges.
  Jones at(double x, double y, double hz) const;
};

}  // namespace apsyn
