// SPDX-License-Identifier: GPL-3.0-or-later
// Planes that are searched and cleaned together.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "kernels/clean/clean.h"
#include "kernels/clean/cpu/tile_ops.h"
#include "libcore/base/view.h"
#include "libcore/system/parallel.h"

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
  bool single() const { return residual.size() == 1 && weight[0] == 1; }  ///< pixels are searched as they are
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
/// The same: the row itself, of a single plane of weight 1, else in `values`.
std::span<const float> searched_row(const PlaneSet& set, std::size_t y, std::vector<float>& values);
/// Calls use(y, searched row) for every row; a thread takes a band of rows.
template <class Use>
void for_each_row(const PlaneSet& set, unsigned n_threads, Use&& use) {
  constexpr std::size_t kBand = 16;
  parallel_for(n_threads, (set.ny() + kBand - 1) / kBand, [&](std::size_t band, unsigned) {
    std::vector<float> values;
    for (std::size_t y = band * kBand; y < std::min(set.ny(), (band + 1) * kBand); ++y)
      use(y, searched_row(set, y, values));
  });
}
/// The height of the highest pixel; 0 when there is none.
float highest_pixel(const PlaneSet& set, unsigned n_threads);
/// The highest pixel of the set, the first in row-major order; height 0 when there is none.
SetPeak find_set_peak(const PlaneSet& set, unsigned n_threads);

}  // namespace apsyn
