// SPDX-License-Identifier: GPL-3.0-or-later
// A polyphase filterbank from its definition, without the polyphase: a windowed sinc of all taps, and a
// discrete Fourier sum over all of its samples, in float64.
#pragma once

#include <complex>
#include <vector>

namespace apsyn::reference {

struct PfbFilter {
  std::size_t length = 1;  ///< samples from spectrum to spectrum
  std::size_t n_taps = 1;
  double raised = 0.5;  ///< window: raised + (1 - raised) cos; 0.5 Hann, 0.54 Hamming, 1 none
};

/// exp(-2 pi i phase_turn) sum_m h(m) x(m) exp(-2 pi i m bin / length) over n_taps * length samples, with
/// sum h^2 = 1.
std::complex<double> pfb_spectrum(const std::vector<std::complex<double>>& x, const PfbFilter& filter,
                                  double bin, double phase_turn);

}  // namespace apsyn::reference
