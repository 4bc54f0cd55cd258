// SPDX-License-Identifier: GPL-3.0-or-later
// Gains of antennas by least squares over all samples, V_pq = J_p M_pq J_q^H, in float64: Gauss-Newton steps
// whose normal equations are added up sample by sample from the derivatives, and solved by elimination.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <vector>

namespace apsyn::reference {

using Jones = std::array<std::complex<double>, 4>;  ///< row by row

/// One visibility matrix; products that were not measured have weight 0.
struct GainSample {
  std::size_t p = 0, q = 0;
  Jones data{}, model{};
  std::array<double, 4> weight{};
};

/// What is free of J.
enum class FreeElements { diagonal, all };

struct GainFit {
  std::vector<Jones> gain;
  double chi2 = 0;
  /// Variances of the real and the imaginary part of each element for samples whose weights are inverse
  /// variances of complex noise, with the indeterminate directions taken out (pseudo-inverse), summed over
  /// both parts.
  std::vector<std::array<double, 4>> variance;
};

/// From `start`; `n_null` directions of the gains leave V as it is (diagonal: 1 per hand, so 2; jones of an
/// unpolarised model: 4; 0 computes no variances).
GainFit fit_gains(const std::vector<GainSample>& samples, std::vector<Jones> start, FreeElements free,
                  std::size_t n_null = 0);

/// Sum of |J - truth|^2 over elements for the best common phase of each hand.
double diagonal_error(const std::vector<Jones>& gain, const std::vector<Jones>& truth);
/// The same for the best common unitary on the right.
double jones_error(const std::vector<Jones>& gain, const std::vector<Jones>& truth);

}  // namespace apsyn::reference
