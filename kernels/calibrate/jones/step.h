// SPDX-License-Identifier: GPL-3.0-or-later
// One pass over the triangle of baselines for the 2x2 gains of all blocks of a group.
#pragma once

#include <cstddef>

#include "kernels/calibrate/sums.h"

namespace apsyn {

/// Values of an antenna's gains: [4 elements][re, im][kLanes].
inline constexpr std::size_t kJonesValues = 8 * kLanes;
/// Values of an antenna's equations: [row][N_0 re, N_0 im, N_1 re, N_1 im, D_00, D_11, D_01 re, D_01
/// im][kLanes].
inline constexpr std::size_t kJonesEquations = 16 * kLanes;

/// The equations of all antennas, gains [antenna][kJonesValues], from a group's sums
/// [baseline][component][kLanes] of a jones kind.
void jones_equations(SumKind kind, const float* baselines, std::size_t n_antennas, const float* gains,
                     float* equations);
void jones_equations(SumKind kind, const float* baselines, std::size_t n_antennas, const double* gains,
                     double* equations);
/// chi^2 with gains [antenna][kJonesValues] of a group's baselines, over the products whose rows are both
/// active
/// ([antenna][row][kLanes], 1 or 0): fit [chi^2 for J = 1, chi^2, N, R][kLanes]. of_baselines, unless null, gets
/// [baseline][chi^2, N] added, of the lanes below n_lanes.
void jones_fit(SumKind kind, const float* baselines, std::size_t n_antennas, const double* gains,
               const double* active, std::size_t n_lanes, double* fit, double* of_baselines);

}  // namespace apsyn
