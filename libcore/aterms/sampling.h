// SPDX-License-Identifier: GPL-3.0-or-later
// Whether the pixels of a subgrid are enough for a phase. For libcore/aterms only.
#pragma once

#include <string>

#include "libcore/base/view.h"
#include "libcore/sky/aterms.h"

namespace apsyn {

inline constexpr double kSampling_rad = 0.01;  ///< what goes unnoticed

/// The grid with another pixel between each two.
AtermGrid halved(const AtermGrid& grid);

/// RMS of what Lagrange interpolation of eight pixels misses of exp(i phase) half-way between pixels, in both
/// directions: about what the sinc of a gridder misses when the phase is smooth, and of order 1 when it turns
/// by half a circle from pixel to pixel. `phase_rad` is on halved(grid). 0 for grids of fewer than 8 pixels.
/// Only the inner two thirds count, because the rest is padding, and not where the horizon is near, which is
/// sharp.
double half_way_error(const AtermGrid& grid, View<const double, 2> phase_rad);

/// "NAME: PATH turns phases too fast for ...".
std::string sampling_warning(const std::string& name, const std::string& path, const AtermGrid& grid,
                             double error_rad, double freq_hz);

}  // namespace apsyn
