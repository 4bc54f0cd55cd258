// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/cpu/psf_bounds.h"

#include <algorithm>
#include <cmath>

namespace apsyn {

PsfBounds::PsfBounds(const std::vector<View<const float, 2>>& psfs)
    : nx_(psfs[0].extent(1)), ny_(psfs[0].extent(0)) {
  // Blocks of kStep pixels, then ranges of kTile + kStep - 1 pixels, that is of `reach` blocks.
  constexpr std::size_t reach = kTile / kStep + 1;
  const std::size_t n_row = (ny_ + kTile) / kStep + 1;
  n_column_ = (nx_ + kTile) / kStep + 1;
  std::vector<float> blocks(n_row * n_column_), rows(n_row * n_column_);
  for (const View<const float, 2>& psf : psfs)
    for (std::size_t y = 0; y < ny_; ++y)
      for (std::size_t x = 0; x < nx_; ++x) {
        float& block = blocks[(y + kTile) / kStep * n_column_ + (x + kTile) / kStep];
        block = std::max(block, std::abs(psf(y, x)));
      }
  for (std::size_t i = 0; i < n_row; ++i)
    for (std::size_t j = 0; j < n_column_; ++j)
      for (std::size_t k = j; k < std::min(j + reach, n_column_); ++k)
        rows[i * n_column_ + j] = std::max(rows[i * n_column_ + j], blocks[i * n_column_ + k]);
  bounds_.assign(n_row * n_column_, 0);
  for (std::size_t i = 0; i < n_row; ++i)
    for (std::size_t k = i; k < std::min(i + reach, n_row); ++k)
      for (std::size_t j = 0; j < n_column_; ++j)
        bounds_[i * n_column_ + j] = std::max(bounds_[i * n_column_ + j], rows[k * n_column_ + j]);
}

float PsfBounds::over_tile(std::ptrdiff_t x, std::ptrdiff_t y) const {
  const auto tile = static_cast<std::ptrdiff_t>(kTile);
  if (x <= -tile || y <= -tile || x >= static_cast<std::ptrdiff_t>(nx_) ||
      y >= static_cast<std::ptrdiff_t>(ny_))
    return 0;
  return bounds_[static_cast<std::size_t>(y + tile) / kStep * n_column_ +
                 static_cast<std::size_t>(x + tile) / kStep];
}

double greatest_height(const PlaneSet& set, const SetComponent& component) {
  std::vector<float> heights;
  for (const float flux : component.flux_jy) heights.push_back(std::abs(flux));
  return static_cast<double>(search_value(set, heights)) * (1 + 1e-6);  // float32 rounds
}

}  // namespace apsyn
