// SPDX-License-Identifier: GPL-3.0-or-later
// Inner loops of the CPU beamformer over one tile: kTileSpectra spectra of one channel. Rows are
// kTileSpectra floats.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/beamform/beamform.h"

namespace apsyn {

/// The tile's spectra of all inputs, turned so that time is contiguous: out[input][re row | im row]; rows are
/// filled up with 0 behind n_spectra.
struct TileSource {
  const float* first = nullptr;  ///< panel 0, the tile's first spectrum: [panel][spectrum][re 16 | im 16]
  std::size_t panel_stride = 0;  ///< floats from panel to panel
  std::size_t n_input = 0, n_spectra = 0;
};
void turn_tile(const TileSource& source, float* out);

/// The same from SpectraBlock::codes.
struct CodedTileSource {
  const std::int8_t* first =
      nullptr;                   ///< panel 0 of the block: [panel][pair of spectra][input][re, im, re, im]
  std::size_t panel_stride = 0;  ///< bytes from panel to panel
  std::size_t begin = 0;         ///< the tile's first spectrum; even ones go fast
  std::size_t n_input = 0, n_spectra = 0;
};
void turn_coded_tile(const CodedTileSource& source, float* out);

/// beams[b][re row | im row] = norm[b][row] sum_ant weights[b][ant][re, im] spectra[ant][re row | im row].
struct TileSum {
  const float* spectra = nullptr;
  std::size_t spectra_stride = 0;  ///< floats from antenna to antenna
  const float* weights = nullptr;
  std::size_t weight_stride = 0, beam_weight_stride = 0;  ///< floats from antenna to antenna, beam to beam
  const float* norm = nullptr;
  std::size_t norm_stride = 0;  ///< floats from beam to beam
  std::size_t n_ant = 0, n_beam = 0;
  float* beams = nullptr;
  std::size_t beam_stride = 0;
};
void sum_tile(const TileSum& sum);

/// sums[beam][value][row] += the products of beams[beam][pol][re row | im row], as BeamProduct lists them.
struct TileDetection {
  const float* beams = nullptr;
  std::size_t n_beam = 0, n_pol = 1;
  BeamProduct product = BeamProduct::power;
  bool circular = false;
  float* sums = nullptr;
};
void detect_tile(const TileDetection& detection);

/// products[XX, YY, Re XY, Im XY][row], only XX of one polarisation: sums over antennas with weights w_x, w_y
/// [ant][pol][re, im]; spectra [ant][pol][re row | im row]; norm[XX, YY, XY][row].
struct TileIncoherent {
  const float* spectra = nullptr;
  const float* weights = nullptr;
  const float* norm = nullptr;
  std::size_t n_ant = 0, n_pol = 0;
  float* products = nullptr;
};
void sum_tile_incoherent(const TileIncoherent& sum);

/// sums[value][row] += the values of a product made of these.
void add_products(const float* products, BeamProduct product, std::size_t n_pol, bool circular, float* sums);

/// sums[i] = the sum of row i's values first .. first + n - 1.
void sum_rows(const float* rows, std::size_t n_row, std::size_t first, std::size_t n, float* sums);

/// cosine and sine of 2 pi hz delay_s[ant].
void steer_phases(const double* delay_s, std::size_t n_ant, double hz, float* cosine, float* sine);

}  // namespace apsyn
