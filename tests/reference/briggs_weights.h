// SPDX-License-Identifier: GPL-3.0-or-later
// Imaging weights, one visibility at a time, from their definition: every cell's sum is looked up by its
// number, boxes are summed cell by cell.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace apsyn::reference {

struct WeighedVisibility {
  double u, v, weight;  ///< wavelengths
};

struct WeightRecipe {
  char mode = 'n';  ///< n(atural), u(niform), b(riggs)
  double robustness = 0, rank_level = 0, taper_fwhm_rad = 0, min_uv = 0, max_uv = 1e300, inner_tukey = 0,
         outer_tukey = 0;
  std::size_t rank_box = 16;
};

/// The factor by which each visibility's own weight is multiplied, for an image of n_x by n_y pixels of
/// cell_rad.
std::vector<double> imaging_weights(const std::vector<WeighedVisibility>& visibilities,
                                    const WeightRecipe& recipe, std::size_t n_x, std::size_t n_y,
                                    double cell_rad);

}  // namespace apsyn::reference
