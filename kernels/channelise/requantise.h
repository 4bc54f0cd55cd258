// SPDX-License-Identifier: GPL-3.0-or-later
// Spectra as 8-bit or 4-bit integers, for the integer X stages: what every F stage, on any device, does
// alike.
//
//   q = clip(round(s X + d))      per component, ties to even; 8 bits clip to -127 .. 127, 4 bits to -8 .. 7
//
// Scale. s is one number for each (integration, input channel, input): the RMS of a component becomes 24
// steps with 8 bits (efficiency .99986; clips at 5.3 sigma) and 2.95 steps with 4 bits (.9881, the optimum of
// 16 two's complement levels). An integration is cut into windows of window_spectra() spectra, counted from
// its first, the last one cut off by its end; window w stands for the input samples (first spectrum of w) L
// .. (first spectrum behind w) L - 1, without delays and without the lead of a filterbank. The power is that
// of the valid samples of the first window that holds any: mean of re^2 + im^2 over them, sums in int64 for
// integers and in float64 for floats. Both transforms keep it (Parseval, the filterbank for white noise), so
// E|X|^2 = power. Windows belong to integrations, so that neither the way a stream arrives nor the sample a
// run starts from changes a scale. An antenna without valid samples in any window up to that of a spectrum
// has no scale: that spectrum counts as missing. An input whose samples are all 0 has s = 1. Sums of q are
// divided by s_i s_j afterwards; s is a float32 whose reciprocal is taken in float64.
//
// Values that are themselves multiples of nearly one step, such as sums of few-bit samples in the channels
// whose transform has no factors but 1 and i, are not rounded evenly: only dither keeps their level better
// than a percent.
//
// Dither. d is 0, or uniform in [-1/2, 1/2): then E q = s X for every X that is not clipped, and the error's
// variance is 1/6 on average instead of 1/12. It is a pure function of the channel, the input and the
// spectrum's number since sample 0 of the stream.
//
// Plain inline code: no fmt, no exceptions.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/common/host_device.h"

namespace apsyn {

struct Requantisation {
  unsigned n_bit = 0;  ///< 0 = not at all, 8 or 4
  bool dither = false;
};

/// Spectra of a window: 4096 samples or one spectrum, or the whole integration when that is shorter. A power
/// from 4096 samples of noise is good to 2 %.
inline std::int64_t requantise_window_spectra(std::int64_t n_sample, std::int64_t n_integration) {
  constexpr std::int64_t kSamples = 4096;
  const std::int64_t n = n_sample < kSamples ? (kSamples + n_sample - 1) / n_sample : 1;
  return n < n_integration ? n : n_integration;
}

/// Steps per standard deviation of a component.
inline double requantise_rms_steps(unsigned n_bit) {
  return n_bit == 4 ? 2.95 : 24;
}

APSYN_HOST_DEVICE int requantise_low(unsigned n_bit) {
  return n_bit == 4 ? -8 : -127;
}
APSYN_HOST_DEVICE int requantise_high(unsigned n_bit) {
  return n_bit == 4 ? 7 : 127;
}

/// s for a mean of |X|^2 = `power`.
inline float requantise_scale(double power, unsigned n_bit) {
  if (!(power > 0)) return 1;
  const double scale = requantise_rms_steps(n_bit) / std::sqrt(power / 2);
  return scale < 1e30 ? static_cast<float>(scale) : 1e30f;
}

/// A permutation of 32-bit words whose every output bit depends on every input bit: the finaliser of
/// MurmurHash3 (A. Appleby).
APSYN_HOST_DEVICE std::uint32_t requantise_mix(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  x ^= x >> 16;
  return x;
}

/// The part of a key that does not depend on the spectrum.
APSYN_HOST_DEVICE std::uint32_t requantise_row_key(std::uint32_t channel, std::uint32_t input) {
  return requantise_mix(requantise_mix(channel + 0x9e3779b9u) + input);
}

/// The dither's key of one row of spectra. `channel` = input channel * n_fine + fine; `spectrum` counts from
/// sample 0 of the stream: (first sample of the spectrum, without delays) / L, rounded down.
APSYN_HOST_DEVICE std::uint32_t requantise_key(std::uint32_t channel, std::uint32_t input,
                                               std::int64_t spectrum) {
  const auto high = static_cast<std::uint32_t>(static_cast<std::uint64_t>(spectrum) >> 32);
  return requantise_mix(requantise_row_key(channel, input) + high);
}

/// d of the real and the imaginary part, in steps of 2^-16 about 0; `spectrum_low` = the low half of
/// `spectrum`.
APSYN_HOST_DEVICE void requantise_dither(std::uint32_t key, std::uint32_t spectrum_low, float& re,
                                         float& im) {
  const std::uint32_t bits = requantise_mix(key ^ spectrum_low);
  re = (static_cast<float>(bits & 0xffffu) - 32767.5f) * 0x1p-16f;
  im = (static_cast<float>(bits >> 16) - 32767.5f) * 0x1p-16f;
}

/// Rounds `scaled` = s X + d, ties to even, by
/// pushing its fraction out of the mantissa; what is no number becomes `low`. `clipped` = 1 where it was out
/// of range.
APSYN_HOST_DEVICE int requantise_round(float scaled, int low, int high, int& clipped) {
  const float floor = static_cast<float>(low) - 0.5f, ceiling = static_cast<float>(high) + 0.5f;
  clipped = !(scaled >= floor && scaled <= ceiling);
  const float bounded = scaled > static_cast<float>(low)
                            ? (scaled < static_cast<float>(high) ? scaled : static_cast<float>(high))
                            : static_cast<float>(low);
  constexpr float shift = 12582912.0f;  // 1.5 2^23
  return static_cast<int>((bounded + shift) - shift);
}

}  // namespace apsyn
