// SPDX-License-Identifier: GPL-3.0-or-later
// What the aperture of a kind of antenna is illuminated by.
#pragma once

#include <complex>

#include "libcore/base/view.h"

namespace apsyn {

/// The same for both polarisations: complex samples A at places b about the antenna's position, level,
/// [y north][x east]. Towards a direction s the antenna hears, over the zenith,
///   a(s) = sum_b A_b exp(2 pi i nu b . s / c) / sum_b A_b.
struct Aperture {
  Buffer<std::complex<double>, 2> samples;
  double first_east_m = 0, first_north_m = 0;  ///< place of sample [0][0]
  double step_east_m = 0, step_north_m = 0;    ///< > 0
};

}  // namespace apsyn
