// SPDX-License-Identifier: GPL-3.0-or-later
// The sum over emitters of one antenna's delayed spectra, the inner loop of the voltage simulator:
//   A_k(nu) = (i nu / nu_c)^k sum_s rho_s^k X_s(nu) exp(2 pi i nu tau_s),   k = 0 .. order.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

#include "libcore/core/view.h"

namespace apsyn::simulate {

inline constexpr std::size_t kPhaseGroup = 64;  ///< bins that share one coarse phase
inline constexpr unsigned kMaxTaylorOrder = 4;

struct DelaySumInput {
  View<const float, 4> spectra;      ///< [emitter][pol][re, im][bin], FFT order
  std::vector<std::size_t> visible;  ///< emitters above the horizon
  Buffer<float, 3> coarse;           ///< [visible][bin / kPhaseGroup][re, im]: phase at the group's first bin
  Buffer<float, 3> fine;             ///< [visible][re, im][kPhaseGroup]: phase beyond the group's first bin
  std::vector<float> rate;           ///< [visible]: rho_s
  View<const float, 1> relative_freq;  ///< [bin]: nu / nu_c
};

/// Fills the phases for exp(2 pi i (band_centre_hz + f) tau_s), f = bin * bin_hz with the upper half of the
/// bins negative. Evaluated in float64, so that no phase is wrong by more than 1e-6 rad.
void set_phases(DelaySumInput& input, const std::vector<double>& tau_s, double band_centre_hz, double bin_hz);

/// sums [pol][order + 1][bin]. std::invalid_argument when the shapes disagree or order > kMaxTaylorOrder.
void delay_sum(const DelaySumInput& input, View<std::complex<float>, 3> sums);

}  // namespace apsyn::simulate
