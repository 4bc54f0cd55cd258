// SPDX-License-Identifier: GPL-3.0-or-later
// The grid of the field (EpicPlan::field), for all devices. Of a product only differences of places matter;
// the field has its phase about the origin of the antennas' positions, which the grid's own origin and the
// cell that it begins at are put back for. Where the grid's plane is not the image's, the field is
// interpolated as FftFinish does a power: its cells stand for lags, and reach over half of the grid only.
#pragma once

#include <optional>

#include "kernels/epic/fft/setup.h"
#include "kernels/epic/sky_pixels.h"

namespace apsyn {

class FieldGrid {
 public:
  /// UsageError and std::logic_error as check_fft_plan(); `plan` must outlive it.
  explicit FieldGrid(const EpicPlan& plan) : plan_(plan) { check_fft_plan(plan); }
  /// Whether the grid is another one than before.
  bool aim(const EpicGeometry& geometry, const SkyPixels& pixels);
  const FftGridded& gridded() const { return *gridded_; }
  /// The factor along each axis by which the transform is larger than the grid.
  std::size_t fine() const { return gridded_->grid.resampled ? 2 : 1; }
  /// What the cell of a row and column is multiplied by before.
  double correction(std::size_t row, std::size_t column) const;
  /// Of a pixel, in the order of those that the grid was aimed at, in FftFinish::sky().
  const std::vector<std::uint32_t>& place() const { return place_; }
  /// x: the transform's pixel of direction s is to be turned by exp(-2 pi i x . s).
  Vec3 origin(std::size_t channel) const;

 private:
  bool find(const SkyPixels& pixels);

  const EpicPlan& plan_;
  EpicGeometry planned_for_;
  std::optional<FftGridded> gridded_;
  std::vector<std::uint32_t> place_;
};

}  // namespace apsyn
