// SPDX-License-Identifier: GPL-3.0-or-later
// Passes over the triangle of baselines for the sums of several directions, a group of kLanes blocks at a
// time. Gains are [antenna][direction][re, im][kLanes] throughout, 0 where there are none; m_d = g_pd
// conj(g_qd).
#pragma once

#include <cstddef>

#include "kernels/calibrate/sums.h"

namespace apsyn {

/// Diagonal sums [baseline][A re, A im, S, R, N][kLanes] of a direction, the other directions' models taken
/// out: A = a_d - sum_(e != d) m_e C_ed, and R the chi^2 without this direction. `power`: chi^2 with all
/// gains, [baseline][kLanes].
void single_direction(const float* sums, std::size_t n_antennas, std::size_t n_directions,
                      std::size_t direction, const double* gains, const double* power, float* single);

/// Changes `power` for new gains of a direction, [antenna][re, im][kLanes] of it alone. `single` as
/// single_direction() has made it with those before.
void change_power(const float* single, std::size_t n_antennas, const double* before, const double* after,
                  double* power);

/// Adds chi^2 and the number of samples of all baselines and lanes on which any direction has a gain to
/// total [2]. `power`, unless null, gets chi^2 of all, [baseline][kLanes]: R where there are no gains.
void directions_fit(const float* sums, std::size_t n_antennas, std::size_t n_directions, const double* gains,
                    double* power, double* total);

/// Of a baseline p < q, gains [direction][re, im][kLanes] of both and slopes b [k][kLanes], added to right
/// [direction][k]: sum b Im(conj(m_d) rest_d), rest_d = a_d - sum_e m_e C_ed; to matrix [direction
/// d][direction e <= d][k][k]: sum b b^T Re(m_e C_ed conj(m_d)).
void direction_equations(const float* sums, std::size_t n_directions, const double* g_p, const double* g_q,
                         const double* slopes, std::size_t k, double* right, double* matrix);

}  // namespace apsyn
