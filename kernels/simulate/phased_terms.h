// SPDX-License-Identifier: GPL-3.0-or-later
// What one thread of the GPU does for the beam of a station: sums of phasors over elements and dipoles of
// tiles, as libcore/beams/phased_beams.h has them. Phases are found and reduced in float64.
#pragma once

#include "kernels/simulate/component_terms.h"

namespace apsyn::simulate {

/// Positions of a field: elements with an X, with a Y, and dipoles of a tile. Of n_y = kSameElements those
/// with an X count for Y.
struct PhasedFieldTerms {
  std::uint32_t first_x, n_x, first_y, n_y, first_tile, n_tile, frame;
};
inline constexpr std::uint32_t kSameElements = 0xffffffffu;

/// What is the same for all channels.
struct PhasedTable {
  const double* positions_m;         ///< [position][3]
  const PhasedFieldTerms* fields;    ///< by station
  const std::uint32_t* first_field;  ///< [station], and one more for the end
  std::uint32_t n_stations;
};

/// Of one channel: f, f0 s0 and f0 t0, all over c.
struct PhasedLook {
  double per_m, delay_per_m[3], tile_per_m[3];
};
struct PhasedTerms {
  const PhasedLook* look;
  const double* directions;    ///< [component][3]
  const TermMatrix* left;      ///< [station]
  const TermMatrix* elements;  ///< [frame][component]
  std::uint32_t n_components;
};

/// Mean of exp(2 pi i r . d) over n positions.
APSYN_HOST_DEVICE TermPhasor mean_phasor(const double* r_m, std::uint32_t n, const double (&d_per_m)[3]) {
  TermPhasor sum{0, 0};
  for (std::uint32_t k = 0; k < n; ++k, r_m += 3) {
    const double turns = fma(r_m[0], d_per_m[0], fma(r_m[1], d_per_m[1], r_m[2] * d_per_m[2]));
    const TermPhasor own = phasor_of(fraction_of_turn(turns, 1.0));
    sum.re += own.re;
    sum.im += own.im;
  }
  const float scale = n == 0 ? 0.0f : 1.0f / static_cast<float>(n);
  return {sum.re * scale, sum.im * scale};
}

/// left J of a station in the direction of a component.
APSYN_HOST_DEVICE TermMatrix phased_matrix(const PhasedTable& table, const PhasedTerms& terms,
                                           std::uint32_t station, std::uint32_t component) {
  const double* const s = terms.directions + 3 * std::size_t(component);
  const PhasedLook& look = *terms.look;
  double delayed[3], tiled[3];
  APSYN_UNROLL
  for (int axis = 0; axis < 3; ++axis) {
    delayed[axis] = look.per_m * s[axis] - look.delay_per_m[axis];
    tiled[axis] = look.per_m * s[axis] - look.tile_per_m[axis];
  }
  TermMatrix sum{};
  for (std::uint32_t f = table.first_field[station]; f < table.first_field[station + 1]; ++f) {
    const PhasedFieldTerms field = table.fields[f];
    const TermMatrix element = terms.elements[std::size_t(field.frame) * terms.n_components + component];
    TermPhasor x = mean_phasor(table.positions_m + 3 * std::size_t(field.first_x), field.n_x, delayed);
    TermPhasor y = field.n_y == kSameElements
                       ? x
                       : mean_phasor(table.positions_m + 3 * std::size_t(field.first_y), field.n_y, delayed);
    if (field.n_tile > 0) {
      const TermPhasor tile =
          mean_phasor(table.positions_m + 3 * std::size_t(field.first_tile), field.n_tile, tiled);
      x = times(x, tile);
      y = times(y, tile);
    }
    APSYN_UNROLL
    for (int i = 0; i < 4; ++i) {
      const TermPhasor own = times(i < 2 ? x : y, element.of[i]);
      sum.of[i] = {sum.of[i].re + own.re, sum.of[i].im + own.im};
    }
  }
  const TermMatrix left = terms.left[station];
  TermMatrix jones;
  APSYN_UNROLL
  for (int row = 0; row < 2; ++row) {
    APSYN_UNROLL
    for (int column = 0; column < 2; ++column) {
      const TermPhasor a = times(left.of[2 * row], sum.of[column]),
                       b = times(left.of[2 * row + 1], sum.of[2 + column]);
      jones.of[2 * row + column] = {a.re + b.re, a.im + b.im};
    }
  }
  return jones;
}

}  // namespace apsyn::simulate
