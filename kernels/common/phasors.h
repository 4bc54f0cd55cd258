// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>

namespace apsyn {

/// cosine[i] + i sine[i] = exp(2 pi i turns[i]); turns are reduced in float64 first, so that they may be
/// many.
void unit_phasors(std::size_t n, const double* turns, float* cosine, float* sine);
void unit_phasors(std::size_t n, const double* turns, double* cosine, double* sine);

}  // namespace apsyn
