// SPDX-License-Identifier: GPL-3.0-or-later
// Random operands of sums over antennas, as the device wants them and as loops do.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "kernels/common/beam_sums.cuh"
#include "libcore/core/view.h"

namespace apsyn::support {

struct BeamOperands {
  beam_sums::Layout layout;
  Buffer<std::int8_t, 5> samples;  ///< [chan][pol][spectrum][ant][re, im], -128..127
  Buffer<std::int8_t, 5> weights;  ///< [chan][weight pol][beam][ant][re, im], -127..127
};

inline BeamOperands random_operands(const beam_sums::Layout& layout, unsigned seed) {
  const auto n = [](int count) { return static_cast<std::size_t>(count); };
  BeamOperands operands{layout, {}, {}};
  operands.samples.resize({n(layout.n_chan), n(layout.n_pol), n(layout.n_spectra), n(layout.n_ant), 2});
  operands.weights.resize({n(layout.n_chan), n(layout.n_weight_pol), n(layout.n_beam), n(layout.n_ant), 2});
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> sample(-128, 127), weight(-127, 127);
  for (std::int8_t& value : operands.samples) value = static_cast<std::int8_t>(sample(random));
  for (std::int8_t& value : operands.weights) value = static_cast<std::int8_t>(weight(random));
  return operands;
}

/// What fills antennas up is poison: their weights are 0. What fills spectra up is 0.
inline std::vector<std::int8_t> sample_rows(const BeamOperands& operands) {
  using namespace beam_sums;
  const Layout& layout = operands.layout;
  std::vector<std::int8_t> rows(layout.sample_bytes(), 0x55);
  const int n_padded = layout.n_tiles() * beam_sums::kTileSpectra;
  for (int chan = 0; chan < layout.n_chan; ++chan)
    for (int pol = 0; pol < layout.n_pol; ++pol)
      for (int t = 0; t < n_padded; ++t)
        for (int ant = 0; ant < layout.n_ant_blocks() * kBlockAntennas; ++ant)
          for (int part = 0; part < 2; ++part) {
            const int row = t % beam_sums::kTileSpectra;
            std::int8_t& value =
                rows[layout.tile(chan, pol, ant / kBlockAntennas, t / beam_sums::kTileSpectra) +
                     row * kRowBytes + row_offset(row, part, ant % kBlockAntennas)];
            if (t >= layout.n_spectra)
              value = 0;
            else if (ant < layout.n_ant)
              value = operands.samples(chan, pol, t, ant, part);
          }
  return rows;
}

inline std::vector<std::int8_t> weight_rows(const BeamOperands& operands) {
  using namespace beam_sums;
  const Layout& layout = operands.layout;
  std::vector<std::int8_t> rows(layout.weight_bytes(), 0);
  for (int chan = 0; chan < layout.n_chan; ++chan)
    for (int pol = 0; pol < layout.n_weight_pol; ++pol)
      for (int beam = 0; beam < layout.n_beam; ++beam)
        for (int ant = 0; ant < layout.n_ant; ++ant) {
          const int re = operands.weights(chan, pol, beam, ant, 0),
                    im = operands.weights(chan, pol, beam, ant, 1);
          std::int8_t* group =
              rows.data() + layout.group(chan, pol, beam / kGroupBeams, ant / kBlockAntennas);
          const int row = beam_row(beam % kGroupBeams), at = ant % kBlockAntennas;
          group[row * kRowBytes + row_offset(row, 0, at)] = static_cast<std::int8_t>(re);
          group[row * kRowBytes + row_offset(row, 1, at)] = static_cast<std::int8_t>(-im);
          group[(row + 8) * kRowBytes + row_offset(row + 8, 0, at)] = static_cast<std::int8_t>(im);
          group[(row + 8) * kRowBytes + row_offset(row + 8, 1, at)] = static_cast<std::int8_t>(re);
        }
  return rows;
}

}  // namespace apsyn::support
