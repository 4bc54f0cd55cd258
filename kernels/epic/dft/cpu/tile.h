// SPDX-License-Identifier: GPL-3.0-or-later
// Inner loops of `dft` on the CPU: from antennas to pixels and detection, with all intermediate values in
// registers.
//
// Spectra are arranged in tiles of two rows of 16, [tile][ant][row][re 16 | im 16]: X and Y of 16 spectra, or
// 32 spectra of a single polarisation, so that the products of one spectrum are in one lane. They already
// include the factors g. The register tile is P pixels by both rows: with 32 registers (AVX-512) P = 6 takes
// 24 sums, for 48 fused multiply-adds with 12 broadcast weights and 4 loads; with 16 (AVX2) P = 2 takes 8.
#pragma once

#include <cstddef>
#include <cstdint>

namespace apsyn {

inline constexpr std::size_t kDftLanes = 16;
inline constexpr std::size_t kDftAntNumbers = 4 * kDftLanes;  ///< of one antenna in a tile
inline constexpr std::size_t kDftValues = 4;                  ///< XX, YY, Re XY, Im XY

/// weights[pixel][ant][re, im] = exp(-2 pi i hz (u . r_ant - d_ant)); east, north, up, delay [ant] in
/// seconds, padded with zeros to whole vectors (kDftLanes), as the weights of a pixel are. T: float or
/// double.
template <class T>
struct DftWeights {
  const double *east_s = nullptr, *north_s = nullptr, *up_s = nullptr, *delay_s = nullptr;
  std::size_t n_ant = 0;
  double hz = 0;
  const double* unit = nullptr;  ///< [pixel][east, north, up]
  std::size_t n_pixel = 0;
  T* weights = nullptr;
  std::size_t weight_stride = 0;  ///< numbers from pixel to pixel
};
template <class T>
void turn_weights(const DftWeights<T>& weights);

/// sums[pixel][value][lane] += products of sum_ant weights[pixel][ant] spectra[tile][ant], of all tiles.
/// T: float or double.
template <class T>
struct DftProduct {
  const T* spectra = nullptr;
  std::size_t n_tile = 0, n_ant = 0, n_pol = 1;
  const T* weights = nullptr;
  std::size_t weight_stride = 0, n_pixel = 0;
  T* sums = nullptr;
};
template <class T>
void image_tiles(const DftProduct<T>& product);

/// The quadratic forms sum_(a < b) Re w_a M_ab w_b* of two Hermitian matrices, or of one, by their upper
/// triangles: a tile holds 16 columns b of both (rows 0 and 1), or 32 of the one, and the antennas a before
/// their end; so tile k has pair_tile_ants(k) antennas and begins at pair_tile_begin(k). M_ab = 0 for a >= b.
struct PairProduct {
  const float* pairs = nullptr;  ///< [tile][ant][row][re 16 | im 16]
  std::size_t n_tile = 0, n_ant = 0, n_matrix = 1;
  const float* weights = nullptr;  ///< [pixel][ant, padded to the tiles' columns][re, im]
  std::size_t weight_stride = 0, n_pixel = 0;
  float* sums = nullptr;  ///< [pixel][matrix][lane] +=
};
void image_pairs(const PairProduct& product);

inline std::size_t pair_tile_columns(std::size_t n_matrix) {
  return (3 - n_matrix) * kDftLanes;
}
inline std::size_t pair_tile_ants(std::size_t tile, std::size_t n_ant, std::size_t n_matrix) {
  const std::size_t end = (tile + 1) * pair_tile_columns(n_matrix);
  return end < n_ant ? end : n_ant;
}
inline std::size_t pair_tile_begin(std::size_t tile, std::size_t n_matrix) {
  return tile * (tile + 1) / 2 * pair_tile_columns(n_matrix) * kDftAntNumbers;
}

}  // namespace apsyn
