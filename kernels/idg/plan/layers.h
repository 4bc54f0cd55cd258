// SPDX-License-Identifier: GPL-3.0-or-later
// How a plan handles w: its layers, and what subgrids take on of the distance from them.
#pragma once

#include <cstddef>

#include "kernels/idg/plan/taper_choice.h"

namespace apsyn::idg {

/// How far subgrids reach from the one layer that serves w up to max_w, wavelengths.
double max_half_w(double max_w);

/// How many layers w up to max_w takes, wavelengths, when subgrids may reach `largest` from theirs; 0 when
/// that is next to nothing.
std::size_t count_layers(double max_w, double largest);

/// Layers as far apart as subgrids may reach from them, `largest` at most.
void set_layers(IdgPlan& plan, double max_w, double largest);

/// Layers for subgrids that take on the phase of their distance from one; as few as the kernel padding
/// allows. `largest` is largest_half_w() of the plan. False when there are no such layers.
bool use_chebyshev(IdgPlan& plan, const Field& field, double max_w, double largest);

/// Layers that every visibility is spread over by a kernel in w.
void use_kernel(IdgPlan& plan, const Field& field, double max_w);

}  // namespace apsyn::idg
