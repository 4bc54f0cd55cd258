// SPDX-License-Identifier: GPL-3.0-or-later
// Directions that cover a field with beams.
//
// To second order the power of an array falls as 1 - (2 pi)^2 x^T C x about its beam's centre, C the
// covariance of the antennas' positions in wavelengths: in y = C^(1/2) x all beams are round, whatever the
// array's shape. The beams stand on a hexagonal lattice in y, scaled until the power (of the array, not of
// the approximation) at the middle between neighbours falls to `overlap` for the worst of the three
// neighbours.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace apsyn {

using Vec2 = std::array<double, 2>;

/// Direction cosines (l, m) within `radius` (a direction cosine) of the centre, nearest first, starting with
/// (0, 0). `positions` are in wavelengths along l and m. Along an axis that the array does not resolve there
/// is one row. UsageError when more than `most` beams are needed.
std::vector<Vec2> tile_field(const std::vector<Vec2>& positions, double radius, double overlap,
                             std::size_t most);

}  // namespace apsyn
