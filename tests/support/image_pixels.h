// SPDX-License-Identifier: GPL-3.0-or-later
// Where the pixels of an image lie, for tests that compare single ones.
#pragma once

#include <cstddef>

#include "kernels/idg/idg.h"

namespace apsyn::support {

inline double pixel_l(const ImageGeometry& g, std::size_t x) {
  return (static_cast<double>(g.n_x / 2) - static_cast<double>(x)) * g.cell_rad;
}
inline double pixel_m(const ImageGeometry& g, std::size_t y) {
  return (static_cast<double>(y) - static_cast<double>(g.n_y / 2)) * g.cell_rad;
}

}  // namespace apsyn::support
