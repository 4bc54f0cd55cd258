// SPDX-License-Identifier: GPL-3.0-or-later
// Samples to 4 + 4 bit, 8-bit or float components.
//
// Levels: round to nearest (ties to even), clipped to -8..7 or -128..127. The step makes the RMS of a
// component 2.95 steps with 4 bits (efficiency .9881, the optimum of Gaussian noise with 16 two's complement
// levels) and 32 steps with 8 bits (.9999). 32 bits are unscaled floats in sqrt(Jy).
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>

#include "libcore/base/view.h"

namespace apsyn::simulate {

/// Steps per standard deviation of one component; 0 for floats. std::invalid_argument unless 4, 8 or 32.
double optimum_rms_steps(unsigned n_bit);

/// What a Gaussian component keeps of its amplitude in correlations with anything weakly correlated: its own
/// product with its quantised self over its power. Clipping makes it less than 1 (0.988 with 4 bits; 1 for
/// floats). By Bussgang's theorem it is the mean slope of the staircase, the sum over the thresholds t of
/// exp(-t^2 / 2 r^2) / (r sqrt(2 pi)) with r the RMS in steps.
double correlation_gain(unsigned n_bit);

/// Bytes of one complex sample.
std::size_t bytes_per_sample(unsigned n_bit);

/// Encodes samples * scale: 4 bits put the real part into the high nibble. Samples that are not finite are an
/// error of the caller.
void quantise(std::span<const std::complex<float>> samples, float scale, unsigned n_bit,
              std::span<std::uint8_t> encoded);

/// planes [input][time][sample bytes] -> stream [time][input][sample bytes].
void interleave_inputs(View<const std::uint8_t, 3> planes, std::size_t first_time, std::size_t n_time,
                       std::span<std::uint8_t> stream);

}  // namespace apsyn::simulate
