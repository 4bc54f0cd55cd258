// SPDX-License-Identifier: GPL-3.0-or-later
// One pass over the triangle of baselines for phases that are linear in one or two numbers of each antenna.
#pragma once

#include <cstddef>

namespace apsyn {

/// Sums of a baseline, [kPhaseSums]: L = sum Re(A conj(m)) with m = e_p conj(e_q); its slopes in p's two
/// numbers sum b_k Im(A conj(m)), those in q's being their negatives; the weights sum b_j b_k h for (0,0),
/// (0,1), (1,1).
inline constexpr std::size_t kPhaseSums = 6;

/// Adds a group's lanes to sums [baseline][kPhaseSums]. Baselines [p < q][A re, A im, S][kLanes], phasors
/// (with amplitudes, 0 = left out) [antenna][re, im][kLanes], slopes b [2][kLanes], use [kLanes] 1 or 0. h is
/// S |m|^2, or where `observed` Re(A conj(m)), of the same expectation.
void phase_sums(const float* baselines, std::size_t n_antennas, const double* phasors, const double* slopes,
                const double* use, bool observed, double* sums);

/// Phasors e [antenna][re, im][kLanes] = size exp(i (b_0 x_0 + b_1 x_1)) of numbers x [antenna][2] and sizes
/// [antenna], with slopes and `use` as above: 0 where use or the size is. `stride`: from an antenna's e to
/// the next one's.
void phase_phasors(std::size_t n_antennas, const double* numbers, const double* sizes, const double* slopes,
                   const double* use, std::size_t stride, double* e);

/// sum_q A_pq size_q e_q of antenna p, [re, im][kLanes]; baselines and e as above, sizes [antenna].
void antenna_sums(const float* baselines, std::size_t n_antennas, std::size_t p, const double* e,
                  const double* sizes, double* sums);

/// Adds the S of the lanes that are used to sums [baseline].
void model_sums(const float* baselines, std::size_t n_baselines, const double* use, double* sums);

/// The k of -n <= k <= n for which the sum of the real parts of u_c exp(i k turn_c) is greatest; the first
/// one of equal ones. `first` [re, im][n_channels] is u_c exp(-i n turn_c) and is used up, `turn` [re,
/// im][n_channels] exp(i turn_c).
long best_turn(std::size_t n_channels, long n, double* first, const double* turn);

}  // namespace apsyn
