// SPDX-License-Identifier: GPL-3.0-or-later
// Planes that are searched and cleaned together.
#pragma once

#include <vector>

#include "kernels/clean/clean.h"
#include "kernels/clean/tile_ops.h"
#include "libcore/core/view.h"

namespace apsyn {

struct PlaneSet {
  std::size_t n_group = 1, n_pol = 1;
  std::vector<View<float, 2>> residual;   ///< [group * n_pol + pol], finite
  std::vector<View<const float, 2>> psf;  ///< the same, all of one shape
  std::vector<float> weight;              ///< [group], sum 1
  View<const float, 2>
      search_weight;  ///< [y][x] >= 0: peaks are multiplied by it, at most 1; 0 = not searched
  PeakSign sign = PeakSign::any;

  std::size_t n_plane() const { return residual.size(); }
  std::size_t ny() const { return residual[0].extent(0); }
  std::size_t nx() const { return residual[0].extent(1); }
};

/// A place on the sky and what is taken from there.
struct SetComponent {
  std::size_t x = 0, y = 0;
  std::vector<float> flux_jy;  ///< [group * n_pol + pol]
};

/// The highest pixel.
struct SetPeak {
  std::size_t x = 0, y = 0;
  float height = 0;             ///< |search value| times its weight
  float value = 0;              ///< the search value, signed
  std::vector<float> residual;  ///< [group * n_pol + pol]
};

/// search_values of single numbers, [group * n_pol + pol].
float search_value(const PlaneSet& set, const std::vector<float>& values);
/// search_values of one row of the images.
void search_row(const PlaneSet& set, std::size_t y, std::span<float> values);
/// The highest pixel of the set, the first in row-major order; height 0 when there is none.
SetPeak find_set_peak(const PlaneSet& set, unsigned n_threads);

}  // namespace apsyn
