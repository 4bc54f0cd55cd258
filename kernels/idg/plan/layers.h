// SPDX-License-Identifier: GPL-3.0-or-later
// How a plan handles w: its layers, and how much of the distance from a layer subgrids take on.
#pragma once

#include <cstddef>

#include "kernels/idg/plan/taper_choice.h"

namespace apsyn::idg {

/// Distance in w, in wavelengths, that subgrids have to reach when a single layer serves all w up to max_w.
double max_half_w(double max_w);

/// Number of layers that cover w up to max_w (wavelengths) when subgrids may reach `largest` from their
/// layer; 0 when `largest` is next to nothing.
std::size_t count_layers(double max_w, double largest);

/// Places the layers as far apart as subgrids may reach from them, which is `largest` at most.
void set_layers(IdgPlan& plan, double max_w, double largest);

/// Chooses layers for subgrids that take on the phase of their distance from a layer: as few as the kernel
/// padding allows. `largest` is largest_half_w() of the plan. False when no number of layers suffices.
bool use_chebyshev(IdgPlan& plan, const Field& field, double max_w, double largest);

/// Chooses layers among which a kernel in w spreads every visibility.
void use_kernel(IdgPlan& plan, const Field& field, double max_w);

}  // namespace apsyn::idg
