// SPDX-License-Identifier: GPL-3.0-or-later
// One pass over the triangle of baselines for all lanes of a group.
#pragma once

#include <cstddef>

namespace apsyn {

/// Of gains g [antenna][re, im][kLanes], sums [antenna][3][kLanes]: sum_q A_pq g_q (re, im), sum_q S_pq
/// |g_q|^2. Baselines [p < q][A re, A im, S][kLanes].
void sum_over_baselines(const float* baselines, std::size_t n_antennas, const float* gains, float* sums);
/// The same in float64.
void sum_over_baselines(const float* baselines, std::size_t n_antennas, const double* gains, double* sums);
/// Of diagonal sums, baselines [p < q][A re, A im, S, R, N][kLanes], and gains g [antenna][re, im][kLanes], 0
/// = none: over the baselines of which both antennas have gains [chi^2 without gains, chi^2, N, R][kLanes].
/// of_baselines, unless null, gets [baseline][chi^2, N] added, of the lanes below n_lanes.
void sum_fit(const float* baselines, std::size_t n_antennas, const double* gains, std::size_t n_lanes,
             double* fit, double* of_baselines);

}  // namespace apsyn
