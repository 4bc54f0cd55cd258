// SPDX-License-Identifier: GPL-3.0-or-later
// `dft` of 8-bit integer samples in integer arithmetic: weights are rounded to 16 bits, samples stay as they
// are, and a dot product of two (re, im) pairs does half a complex product in each of 16 lanes, twice as much
// as fused multiply-adds. The rounding error of a weight is 9e-6 of the largest factor (RMS of a component)
// and random from antenna to antenna; its effect on autocorrelations is subtracted with them, exactly.
//
// Tiles are those of dft/cpu/tile.h with pairs of int16 in place of two rows of floats:
// [tile][ant][row][lane][re, im].
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/epic/dft/cpu/tile.h"

namespace apsyn {

inline constexpr std::size_t kCodeAntWords = 2 * kDftLanes;  ///< of 32 bits, of one antenna in a tile
inline constexpr float kCodeWeight = 32767;                  ///< |weight| of the largest factor

/// words[ant] = [re, -im], [im, re] of round(factor weight), weight exp(i phi) as turn_weights() makes it;
/// factors [ant][re, im] are at most kCodeWeight; n_ant a multiple of 8.
void weigh_codes(const float* weights, const float* factors, std::size_t n_ant, std::uint64_t* words);

/// sums[pixel][value][lane] as image_tiles() adds them up, not rescaled for the size of integer weights.
struct DftCodeProduct {
  const std::int32_t* spectra = nullptr;
  std::size_t n_tile = 0, n_ant = 0, n_pol = 1;
  const std::uint64_t* words[2] = {};  ///< of each row: [pixel][ant]
  std::size_t word_stride = 0, n_pixel = 0;
  float* sums = nullptr;
};
void image_code_tiles(const DftCodeProduct& product);

/// XX, YY, Re XY, Im XY that antennas of powers[value][ant] add by themselves; words of X and Y.
void code_autos(const std::uint64_t* const words[2], const double* powers, std::size_t power_stride,
                std::size_t n_ant, std::size_t n_pol, double autos[kDftValues]);

}  // namespace apsyn
