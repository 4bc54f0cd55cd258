// SPDX-License-Identifier: GPL-3.0-or-later
// Products of complex matrices in single precision, real and imaginary parts apart. For libcore/beams only.
#pragma once

#include <cstddef>

#include "libcore/base/view.h"

namespace apsyn {

/// Real and imaginary parts of a matrix, each [row][column].
struct ComplexPlanes {
  Buffer<float, 2> re, im;
  void resize(std::size_t rows, std::size_t columns) {
    re.resize({rows, columns});
    im.resize({rows, columns});
  }
};

/// c[m][x] = rho[m][x] c[m][x] + sum over k of a[m][k] b[k][x]; without `rho` what c held is of no account.
/// The columns are a multiple of kLanes. Of a the first c.re.extent(0) rows count.
void multiply_planes(const ComplexPlanes& a, const ComplexPlanes& b, const View<const float, 2>* rho,
                     ComplexPlanes& c);

}  // namespace apsyn
