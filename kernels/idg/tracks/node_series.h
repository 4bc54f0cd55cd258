// SPDX-License-Identifier: GPL-3.0-or-later
// How many Chebyshev nodes a track needs, looked up in a plan's tables (NodeCounts in node_counts.h). For
// host and device.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/idg/partition/sub_table.h"

namespace apsyn::idg {

/// Powers of t, from t^2 on, of the curves that are fitted to tracks.
constexpr int kCurvePowers = 4;

/// Node k of n on [-1, 1], rising.
template <class N>
APSYN_CUT double chebyshev_node(N k, N n) {
#ifdef __CUDA_ARCH__
  return -cospi((static_cast<double>(k) + 0.5) / static_cast<double>(n));
#else
  return -cos(3.14159265358979323846 * (static_cast<double>(k) + 0.5) / static_cast<double>(n));
#endif
}

/// Number of nodes for a straight track. max_turn [n], n <= kMax: the largest turn that n nodes can
/// represent. More than kMax if that many do not suffice.
template <std::uint32_t kMax>
APSYN_CUT std::uint32_t straight_nodes(double turn, const double* max_turn) {
  std::uint32_t n = 1;
  while (n <= kMax && turn > max_turn[n]) ++n;
  return n;
}

/// Number of nodes for exp(i (turn t + sum_p bends[p] t^(p + 2))), whose Chebyshev coefficients are at most 2
/// c_n,
///   sum_n c_n x^n = exp(turn x / 2 + sum_p bends[p] (x / 2)^(p + 2));
/// max_term [n]: c_n of the longest straight track that n nodes can represent.
template <std::uint32_t kMax>
APSYN_CUT std::uint32_t bent_nodes(double turn, const double* bends, const double* max_term) {
  double c[kMax + 2];
  c[0] = 1;
  for (std::uint32_t n = 1; n < kMax + 2; ++n) {
    double sum = turn / 2 * c[n - 1], power = 0.25;
    for (std::uint32_t m = 2; m < 2 + kCurvePowers && m <= n; ++m, power /= 2)
      sum += m * bends[m - 2] * power * c[n - m];
    c[n] = sum / n;
    // Where a track hardly turns, coefficients of even n are far larger than those before them.
    if (n > 1 && greater(c[n - 1], c[n]) <= max_term[n - 1]) return n - 1;
  }
  return kMax + 1;
}

}  // namespace apsyn::idg
