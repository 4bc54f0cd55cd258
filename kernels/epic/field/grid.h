// SPDX-License-Identifier: GPL-3.0-or-later
// The grid of the field (EpicPlan::field), for all devices. For products only differences of positions
// matter. The phase of the field is relative to the origin of the antennas' positions, so the shifts of the
// grid's origin and of its first cell have to be undone. If the grid's plane is not the image's, the field is
// interpolated as FftFinish does with power: its cells take the role of lags, and cover only half of the
// grid.
#pragma once

#include <optional>

#include "kernels/epic/fft/setup.h"
#include "kernels/epic/sky_pixels.h"

namespace apsyn {

class FieldGrid {
 public:
  /// UsageError and std::logic_error as check_fft_plan(); `plan` must outlive it.
  explicit FieldGrid(const EpicPlan& plan) : plan_(plan) { check_fft_plan(plan); }
  /// Prepares for a geometry. Returns whether the grid has changed.
  bool aim(const EpicGeometry& geometry, const SkyPixels& pixels);
  const FftGridded& gridded() const { return *gridded_; }
  /// The factor along each axis by which the transform is larger than the grid.
  std::size_t fine() const { return gridded_->grid.resampled ? 2 : 1; }
  /// Factor by which the cell of a row and column is multiplied before the transform.
  double correction(std::size_t row, std::size_t column) const;
  /// [pixel, as given to aim()] its index in FftFinish::sky().
  const std::vector<std::uint32_t>& place() const { return place_; }
  /// x: the transform's pixel in direction s has to be multiplied by exp(-2 pi i x . s).
  Vec3 origin(std::size_t channel) const;

 private:
  bool find(const SkyPixels& pixels);

  const EpicPlan& plan_;
  EpicGeometry planned_for_;
  std::optional<FftGridded> gridded_;
  std::vector<std::uint32_t> place_;
};

}  // namespace apsyn
