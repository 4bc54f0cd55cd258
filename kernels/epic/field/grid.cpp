// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/field/grid.h"

#include <algorithm>
#include <stdexcept>

#include "libcore/base/constants.h"

namespace apsyn {
namespace {

constexpr std::uint32_t kNowhere = UINT32_MAX;

}  // namespace

bool FieldGrid::aim(const EpicGeometry& geometry, const SkyPixels& pixels) {
  if (gridded_ && gridded_->grid.resampled) gridded_->finish.aim(plan_, geometry);
  if (gridded_ && serves(gridded_->grid, plan_, planned_for_, geometry) && find(pixels)) return false;
  gridded_.emplace(plan_, geometry);
  planned_for_ = geometry;
  if (!find(pixels)) throw std::logic_error("FieldGrid: pixels that its grid lacks");
  return true;
}

/// Finds the pixels among those of the grid, which stand in another order; false when it was planned for
/// other axes and lacks some that are above the horizon of these.
bool FieldGrid::find(const SkyPixels& pixels) {
  const std::vector<FinishPixel>& sky = gridded_->finish.sky();
  std::vector<std::uint32_t> at(plan_.width() * plan_.height(), kNowhere);
  for (std::size_t i = 0; i < sky.size(); ++i)
    at[sky[i].y * plan_.width() + sky[i].x] = static_cast<std::uint32_t>(i);
  place_.clear();
  for (const std::uint32_t index : pixels.index) place_.push_back(at[index]);
  return std::find(place_.begin(), place_.end(), kNowhere) == place_.end();
}

double FieldGrid::correction(std::size_t row, std::size_t column) const {
  const FftFinish& finish = gridded_->finish;
  if (!gridded_->grid.resampled) return 1;
  return finish.correction_x()[column] * finish.correction_y()[row] *
         static_cast<double>(gridded_->grid.x.n * gridded_->grid.y.n);
}

Vec3 FieldGrid::origin(std::size_t channel) const {
  const FftGrid& grid = gridded_->grid;
  const GridLists& lists = gridded_->lists[channel];
  const double per_m = plan_.channel_hz[channel] / kSpeedOfLight_m_s;
  const double cell_x = static_cast<double>(lists.first_column) * grid.x.spacing();
  const double cell_y = static_cast<double>(lists.first_row) * grid.y.spacing();
  Vec3 origin;
  for (std::size_t i = 0; i < 3; ++i)
    origin[i] = per_m * grid.origin_m[i] + cell_x * grid.axes[0][i] + cell_y * grid.axes[1][i];
  return origin;
}

}  // namespace apsyn
