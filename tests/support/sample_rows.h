// SPDX-License-Identifier: GPL-3.0-or-later
// Samples as rows of kernels/common/cuda/beams/products.cuh.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/cuda/beams/products.cuh"
#include "libcore/base/view.h"

namespace apsyn::support {

using RowSamples = Buffer<std::int8_t, 5>;  ///< [row][pol][spectrum][ant][re, im]

/// What fills antennas up is poison: their weights are 0. What fills spectra up is 0.
inline std::vector<std::int8_t> sample_rows(const beam_products::RowLayout& layout,
                                            const RowSamples& samples) {
  using namespace beam_products;
  std::vector<std::int8_t> rows(layout.bytes(), 0x55);
  const int n_padded = layout.n_tiles() * kTileSpectra;
  for (int chan = 0; chan < layout.n_row; ++chan)
    for (int pol = 0; pol < layout.n_pol; ++pol)
      for (int t = 0; t < n_padded; ++t)
        for (int ant = 0; ant < layout.n_blocks() * kBlockAntennas; ++ant)
          for (int part = 0; part < 2; ++part) {
            const int row = t % kTileSpectra;
            std::int8_t& value = rows[layout.tile(chan, pol, ant / kBlockAntennas, t / kTileSpectra) +
                                      row * kRowBytes + row_offset(row, part, ant % kBlockAntennas)];
            if (t >= layout.n_spectra)
              value = 0;
            else if (ant < layout.n_ant)
              value = samples(chan, pol, t, ant, part);
          }
  return rows;
}

}  // namespace apsyn::support
