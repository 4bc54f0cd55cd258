// SPDX-License-Identifier: GPL-3.0-or-later
// Smooth spectra through the fluxes of channel groups, by weighted least squares.
#pragma once

#include <vector>

#include "kernels/clean/deconvolve.h"

namespace apsyn {

class SpectralFitter {
 public:
  /// Fits to values at `groups` (those of weight 0 do not count).
  SpectralFitter(SpectralFit fit, std::size_t n_terms, const std::vector<DeconvolutionGroup>& groups);

  /// The fitted terms c_k of deconvolve.h's SpectralFit, [term]; for SpectralFit::none the values themselves.
  std::vector<double> fit(const std::vector<double>& values) const;
  /// The spectrum of these terms.
  double evaluate(const std::vector<double>& terms, double freq_hz) const;
  /// evaluate(fit(values)) at the groups' own frequencies.
  std::vector<double> smooth(const std::vector<double>& values) const;

  /// Whether smooth() is a product with a matrix: projection() [group][group], empty for SpectralFit::none,
  /// which leaves values as they are.
  bool is_linear() const { return fit_ != SpectralFit::logarithmic; }
  const std::vector<std::vector<double>>& projection() const { return projection_; }

  /// nu_0: the weighted mean of the frequencies.
  double reference_hz() const { return reference_hz_; }

 private:
  std::vector<double> fit_polynomial(const std::vector<double>& values) const;
  std::vector<double> fit_logarithmic(const std::vector<double>& values) const;

  SpectralFit fit_;
  std::size_t n_terms_;
  std::vector<DeconvolutionGroup> groups_;
  double reference_hz_ = 0;
  std::vector<std::vector<double>> projection_;  ///< [group][group] values -> smooth polynomial values
  std::vector<std::vector<double>> solution_;    ///< [term][group] values -> terms of the polynomial
};

}  // namespace apsyn
