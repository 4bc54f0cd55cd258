// SPDX-License-Identifier: GPL-3.0-or-later
// The signal of a pulsar: noise whose power follows Gaussian pulses, dispersed on its way.
//
//   X(t) = sqrt(g(t / P)) n(t),   g(x) = sum_m exp(-4 ln 2 ((x - m) / w)^2) / (w sqrt(pi / (4 ln 2)))
//
// n white noise of the source's mean power, w the duty cycle (full width at half maximum over the period), so
// that the mean of g is 1. Dispersion delays nu by D / nu^2 against infinite frequency (D =
// kDispersion_s_hz2 DM): in a channel about nu_c the pulses by D / nu_c^2, and the voltage's Fourier
// components at nu_c + f, by what is left, by the phase (Hankins & Rickett 1975)
//   exp(+2 pi i D f^2 / (nu_c^2 (nu_c + f))).
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>

namespace apsyn::simulate {

struct PulsarSignal {
  std::size_t component = 0;  ///< of the sky model
  double period_s = 1, dm_pc_cm3 = 0;
  double duty = 0.05;  ///< 0 .. 0.5
};

/// Half of what dispersion spreads a channel over, seconds.
double dispersion_reach_s(const PulsarSignal& pulsar, double lowest_channel_hz, double channel_width_hz);

/// sqrt(g) of the channel for the samples first .. first + envelope.size() - 1; a pulse's peak would have
/// left infinite frequency at sample 0.
void pulse_envelope(const PulsarSignal& pulsar, double channel_hz, double sample_s, std::int64_t first,
                    std::span<float> envelope);

/// The phase above as a factor, at f from the channel's centre.
std::complex<double> dispersion_factor(const PulsarSignal& pulsar, double channel_hz, double f_hz);

}  // namespace apsyn::simulate
