// SPDX-License-Identifier: GPL-3.0-or-later
// The prototype filter of a polyphase filterbank, and its polyphase sums.
//
// N taps of L samples, L the length of the transform behind it:
//   h(m) = a w(t / N) sinc(t),  t = (m - (N L - 1) / 2) / L,  m = 0 .. N L - 1,  sinc(t) = sin(pi t) / (pi t)
//   w(x) = 1 (rect), 0.5 + 0.5 cos(2 pi x) (Hann), 0.54 + 0.46 cos(2 pi x) (Hamming)
// with a such that sum_m h^2 = 1: white noise of unit variance leaves every channel with unit variance
// (Parseval holds on average). h is symmetric about its middle, so a channel's response is real there.
// A channel is one transform bin wide between its half-amplitude (-6 dB) points for 4 taps and more.
#pragma once

#include <cstddef>
#include <vector>

#include "libcore/voltage/filterbank.h"

namespace apsyn {

/// h, [tap][sample], n_taps * n_sample values.
std::vector<double> pfb_coefficients(std::size_t n_sample, const Filterbank& filterbank);

/// [tap][value] of float32 for fold_taps: each coefficient once (real samples) or twice (re, im).
std::vector<float> pfb_weights(std::size_t n_sample, const Filterbank& filterbank,
                               std::size_t values_per_sample);

struct FoldTask {
  const float* samples = nullptr;  ///< [tap][value]
  const float* weights = nullptr;  ///< [tap][value]
  std::size_t n_taps = 0;
  std::size_t n_value = 0;  ///< floats per tap
  float* out = nullptr;     ///< [value]
};

/// out(n) = sum over p of weights(p, n) samples(p, n).
void fold_taps(const FoldTask& task);

}  // namespace apsyn
