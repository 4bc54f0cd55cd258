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

}  // namespace apsyn
