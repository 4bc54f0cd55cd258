// SPDX-License-Identifier: GPL-3.0-or-later
// Sums of pairs of inputs as the matrices that `corr` images: V_ab of a pair of antennas a < b gives
//   I_XX = Re sum 2 V_XX e,          I_YY = Re sum 2 V_YY e,          e = exp(-2 pi i nu (tau_a - tau_b)),
//   Re I_XY = Re sum (V_XY + V_YX) e,    Im I_XY = Re sum -i (V_XY - V_YX) e,
// because V_XY of the pair (b, a) is conj(V_YX) of (a, b): only pairs a < b are needed, and every image is a
// real part. Autocorrelations do not depend on the direction.
#pragma once

#include <complex>
#include <vector>

#include "kernels/common/spectra/pair_sums.h"
#include "kernels/epic/autos.h"
#include "kernels/epic/epic.h"

namespace apsyn {

/// The matrices of one channel, including the factors g.
class PairProducts {
 public:
  /// `factors` [pair a < b] multiply the matrices; null = 1.
  PairProducts(const EpicPlan& plan, const PairSums& sums, std::size_t channel,
               const float* factors = nullptr);
  /// The matrices that the plan asks for: XX, YY, Re XY, Im XY, or (XX + YY) / 2, of n_matrix() =
  /// EpicPlan::n_plane().
  void of(std::size_t a, std::size_t b, std::complex<float>* matrices) const;
  /// sum over antennas of V_aa: XX, or (XX + YY) / 2, YY, Re XY, Im XY.
  EpicValues autos() const;

 private:
  /// Of a pair a < b.
  double factor(std::size_t a, std::size_t b) const {
    return factors_ == nullptr ? 1
                               : static_cast<double>(factors_[a * plan_.n_ant - a * (a + 1) / 2 + b - a - 1]);
  }
  std::complex<double> value(std::size_t a, std::size_t p, std::size_t b, std::size_t q) const {
    const std::size_t i = a * plan_.n_pol + p, j = b * plan_.n_pol + q;
    return sums_(channel_, i, j) * factor_[i] * std::conj(factor_[j]);
  }
  const EpicPlan& plan_;
  const PairSums& sums_;
  std::size_t channel_;
  const float* factors_;
  std::vector<std::complex<double>> factor_;  // [input]
};

}  // namespace apsyn
