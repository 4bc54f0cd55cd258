// SPDX-License-Identifier: GPL-3.0-or-later
// The power pattern of an array (Magro, Zarb Adami & Hickish 2014, equation 1, squared and with the peak 1):
//
//   P(s) = A(s)^2 | sum_i w_i exp(2 pi i nu r_i.(s - s_0) / c) |^2 / (sum_i |w_i|)^2
//
// s_0 the direction that the beam is steered to, A(s) the voltage pattern that all antennas share.
#pragma once

#include <complex>
#include <functional>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/base/view.h"

namespace apsyn {

struct PatternPlan {
  std::vector<Vec3> enu_m;                    ///< antennas of the beam
  std::vector<std::complex<double>> weights;  ///< one per antenna; empty = 1
  Vec3 steered{0, 0, 1};                      ///< s_0, unit vector east, north, up
  double freq_hz = 0;
  /// Axes of the image in the local frame, rows l, m, n: pixel (x, y) looks at l = (nx/2 - x) cell, m = (y -
  /// ny/2) cell.
  Mat3 axes{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  double cell = 0;
  std::function<double(const Vec3&)> element;  ///< A; empty = 1
  unsigned n_threads = 1;
};

/// power [y][x]; NaN beyond l^2 + m^2 = 1 and below the horizon.
void array_pattern(const PatternPlan& plan, View<double, 2> power);

}  // namespace apsyn
