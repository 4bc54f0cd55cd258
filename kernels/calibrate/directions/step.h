// SPDX-License-Identifier: GPL-3.0-or-later
// Passes over the triangle of baselines for the sums of several directions, a group of kLanes blocks at a
// time.
#pragma once

#include <cstddef>

#include "kernels/calibrate/sums.h"

namespace apsyn {

/// Values of a baseline's rest: [direction][re, im][kLanes] of a_d - sum_e m_e C_ed, and chi^2 [kLanes].
constexpr std::size_t rest_values(std::size_t n_directions) {
  return (2 * n_directions + 1) * kLanes;
}

/// The rest without any gains: a_d and R.
void begin_rest(const float* sums, std::size_t n_antennas, std::size_t n_directions, double* rest);

/// Changes the rest for gains of a direction that change from `before` to `after`, [antenna][re, im][kLanes].
void change_rest(const float* sums, std::size_t n_antennas, std::size_t n_directions, std::size_t direction,
                 const double* before, const double* after, double* rest);

/// Diagonal sums [baseline][A re, A im, S, R, N][kLanes] of a direction with gains as above, the others'
/// models taken out.
void single_direction(const float* sums, std::size_t n_antennas, std::size_t n_directions,
                      std::size_t direction, const double* gains, const double* rest, float* single);

/// Of a baseline p < q, gains [direction][re, im][kLanes] of both and slopes b [k][kLanes], added to right
/// [direction][k]: sum b Im(conj(m_d) rest_d); to matrix [direction d][direction e <= d][k][k]: sum b b^T
/// Re(m_e C_ed conj(m_d)).
void direction_equations(const float* sums, std::size_t n_directions, const double* g_p, const double* g_q,
                         const double* slopes, std::size_t k, double* right, double* matrix);

}  // namespace apsyn
