// SPDX-License-Identifier: GPL-3.0-or-later
// Upper bounds on what a component can add to a tile of pixels.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/clean/plane_set.h"

namespace apsyn {

/// max|PSF| over every tile-sized range of offsets, on a coarse grid of range starts.
class PsfBounds {
 public:
  static constexpr std::size_t kTile = 64;  ///< pixels per side; 16 KB of residual stay in the first cache
  /// Takes the maximum over several PSFs of one shape.
  explicit PsfBounds(const std::vector<View<const float, 2>>& psfs);
  /// Upper bound over the kTile x kTile offsets that begin at PSF pixel (x, y), which may be negative.
  float over_tile(std::ptrdiff_t x, std::ptrdiff_t y) const;

 private:
  static constexpr std::size_t kStep = 16;
  std::size_t nx_ = 0, ny_ = 0;  ///< of the PSF
  std::size_t n_column_ = 0;
  std::vector<float> bounds_;  ///< [start y / kStep][start x / kStep], starts counted from -kTile
};

/// The search value of |fluxes|. Times max|PSF| it bounds the change that a component makes to the search
/// value, because the mean over groups is linear and the root of summed squares is a norm.
double greatest_height(const PlaneSet& set, const SetComponent& component);

}  // namespace apsyn
