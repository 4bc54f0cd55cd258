// SPDX-License-Identifier: GPL-3.0-or-later
// The sum over emitters of one antenna's delayed spectra, the inner loop of the voltage simulator:
//   A_k(nu) = (i nu / nu_c)^k sum_s rho_s^k J_s X_s(nu) exp(2 pi i nu tau_s + i phi_s(nu)),   k = 0 .. order,
// where phi_s is the phase that the ionosphere adds, and J_s the antenna's A-term.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

#include "libcore/base/view.h"

namespace apsyn::simulate {

inline constexpr std::size_t kPhaseGroup = 64;  ///< bins that share one coarse phase
inline constexpr unsigned kMaxTaylorOrder = 4;

struct DelaySumInput {
  View<const float, 4> spectra;      ///< [emitter][pol][re, im][bin], FFT order
  std::vector<std::size_t> visible;  ///< emitters above the horizon
  Buffer<float, 3> coarse;           ///< [visible][bin / kPhaseGroup][re, im]: phase at the group's first bin
  Buffer<float, 3> fine;             ///< [visible][re, im][kPhaseGroup]: phase beyond the group's first bin
  std::vector<float> rate;           ///< [visible]: rho_s
  Buffer<float, 2> jones;            ///< [visible][XX XY YX YY re, im], or of no size: the unit matrix
  View<const float, 1> relative_freq;  ///< [bin]: nu / nu_c
};

/// One emitter's way to an antenna.
struct RayDelay {
  double tau_s = 0, tec_tecu = 0;
};

/// Fills the phases 2 pi nu tau_s + phi_s(nu) at nu = band_centre_hz + f, f = bin * bin_hz with the upper
/// half of the bins negative. Evaluated in float64, so that no phase is wrong by more than 1e-6 rad; phi_s is
/// exact at the first bin of each group, and linear with its slope at the centre of the band within a group.
void set_phases(DelaySumInput& input, const std::vector<RayDelay>& rays, double band_centre_hz,
                double bin_hz);

/// sums [pol][order + 1][bin]. std::invalid_argument when the shapes disagree or order > kMaxTaylorOrder.
void delay_sum(const DelaySumInput& input, View<std::complex<float>, 3> sums);

}  // namespace apsyn::simulate
