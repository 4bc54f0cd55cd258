// SPDX-License-Identifier: GPL-3.0-or-later
// What an antenna's path does to the sky's field before the noise of its receiver is added.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace apsyn::simulate {

/// g(t) = a exp(i phi) of one input, a and phi linear between the times and constant beyond them; no
/// times: 1.
struct GainTrack {
  std::vector<double> time_s, amplitude, phase_rad;  ///< times rise

  std::complex<double> at(double seconds) const;
};

/// Samples over which a gain is taken as a straight line in the complex plane.
inline constexpr std::size_t kGainPiece = 64;

/// samples[n] *= g((first + n) sample_s). Within pieces of kGainPiece, counted from sample 0, g is a straight
/// line: with phases that change by x within a piece it is off by x^2 / 8, and by x / 4 in a piece with one
/// of the times.
void apply_gain(const GainTrack& track, std::int64_t first, double sample_s,
                std::span<std::complex<float>> samples);

}  // namespace apsyn::simulate
