// SPDX-License-Identifier: GPL-3.0-or-later
// The field by gridding and a transform. Of a product only differences of places matter; the field has its
// phase about the origin of the antennas' positions, which the grid's own origin and the cell that it begins
// at are put back for. Where the grid's plane is not the image's, the field is interpolated as FftFinish does
// a power: its cells stand for lags, and reach over half of the grid only.
#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/epic/fft_setup.h"
#include "kernels/epic/field_imager.h"
#include "libcore/core/constants.h"
#include "libcore/core/parallel.h"

namespace apsyn {
namespace {

constexpr std::uint32_t kNowhere = UINT32_MAX;
using Plane = Buffer<std::complex<double>, 2>;  // [column][row]

class FieldFft final : public FieldImager {
 public:
  explicit FieldFft(EpicPlan plan) : FieldImager(std::move(plan)) { check_fft_plan(this->plan()); }

 private:
  void aim(const EpicGeometry& geometry) override;
  void image(std::size_t channel, std::size_t pol, const std::vector<std::complex<double>>& voltages,
             View<std::complex<float>, 1> field) override;
  bool find_pixels();
  /// `pixel`: of FftFinish::sky().
  std::complex<double> interpolated(const Plane& plane, std::size_t pixel) const;

  EpicGeometry planned_for_;
  std::optional<FftGridded> gridded_;
  std::optional<ComplexFft<double>> transform_;
  std::vector<std::uint32_t> place_;        // [pixel] in FftFinish::sky()
  Buffer<std::complex<float>, 2> turns_;    // [channel][ant] what fft_factors() adds to g
  Buffer<std::complex<float>, 2> origins_;  // [channel][pixel] phase of the grid's first cell
};

void FieldFft::aim(const EpicGeometry& geometry) {
  const bool resampled = gridded_ && gridded_->grid.resampled;
  if (resampled) gridded_->finish.aim(plan(), geometry);
  if (!gridded_ || !serves(gridded_->grid, plan(), planned_for_, geometry) || !find_pixels()) {
    gridded_.emplace(plan(), geometry);
    planned_for_ = geometry;
    find_pixels();
    const std::size_t fine = gridded_->grid.resampled ? 2 : 1;
    transform_.emplace(std::array<std::size_t, 2>{fine * gridded_->grid.x.n, fine * gridded_->grid.y.n}, 1,
                       FftSign::minus);
  }
  const FftGrid& grid = gridded_->grid;
  turns_.resize_for_overwrite({plan().n_channel(), plan().n_ant});
  origins_.resize_for_overwrite({plan().n_channel(), pixels().size()});
  parallel_for(plan().n_threads, plan().n_channel(), [&](std::size_t channel, unsigned) {
    const double hz = plan().channel_hz[channel], per_m = hz / kSpeedOfLight_m_s;
    for (std::size_t ant = 0; ant < plan().n_ant; ++ant)
      turns_(channel, ant) = std::complex<float>(std::polar(
          1.0, kTwoPi * (hz * geometry.delay_s[ant] - per_m * grid.place(geometry.enu_m[ant])[2])));
    const auto cell_x = static_cast<double>(gridded_->lists[channel].first_column) * grid.x.spacing();
    const auto cell_y = static_cast<double>(gridded_->lists[channel].first_row) * grid.y.spacing();
    for (std::size_t pixel = 0; pixel < pixels().size(); ++pixel) {
      const Vec3 s{pixels().unit(pixel, 0), pixels().unit(pixel, 1), pixels().unit(pixel, 2)};
      const double turns =
          per_m * dot(grid.origin_m, s) + cell_x * dot(s, grid.axes[0]) + cell_y * dot(s, grid.axes[1]);
      origins_(channel, pixel) = std::complex<float>(std::polar(1.0, -kTwoPi * turns));
    }
  });
}

/// Finds the pixels among those of the grid, which stand in another order; false when it was planned for
/// other axes and lacks some that are above the horizon of these.
bool FieldFft::find_pixels() {
  const std::vector<FinishPixel>& sky = gridded_->finish.sky();
  std::vector<std::uint32_t> at(plan().width() * plan().height(), kNowhere);
  for (std::size_t i = 0; i < sky.size(); ++i)
    at[sky[i].y * plan().width() + sky[i].x] = static_cast<std::uint32_t>(i);
  place_.clear();
  for (const std::uint32_t index : pixels().index) place_.push_back(at[index]);
  return std::find(place_.begin(), place_.end(), kNowhere) == place_.end();
}

std::complex<double> FieldFft::interpolated(const Plane& plane, std::size_t pixel) const {
  constexpr std::size_t kTaps = FftFinish::kTaps;
  const FinishPixel& at = gridded_->finish.sky()[pixel];
  const double* tap_x = gridded_->finish.taps().data() + pixel * 2 * kTaps;
  const double* tap_y = tap_x + kTaps;
  std::complex<double> value = 0;
  for (std::size_t a = 0; a < kTaps; ++a) {
    std::complex<double> sum = 0;
    for (std::size_t b = 0; b < kTaps; ++b)
      sum += tap_y[b] * plane((at.column + a) % plane.extent(0), (at.row + b) % plane.extent(1));
    value += tap_x[a] * sum;
  }
  return value;
}

void FieldFft::image(std::size_t channel, std::size_t, const std::vector<std::complex<double>>& voltages,
                     View<std::complex<float>, 1> field) {
  const FftGrid& grid = gridded_->grid;
  const FftFinish& finish = gridded_->finish;
  const GridLists& lists = gridded_->lists[channel];
  const std::size_t fine = grid.resampled ? 2 : 1;
  Plane plane({fine * grid.x.n, fine * grid.y.n});
  for (std::size_t row = 0; row < lists.rows.size(); ++row)
    for (std::size_t i = lists.row_begin[row]; i < lists.row_begin[row + 1]; ++i) {
      std::complex<double> sum = 0;
      for (std::size_t k = lists.cells[i].begin; k < lists.cells[i + 1].begin; ++k) {
        const GridEntry& entry = lists.entries[k];
        sum += std::complex<double>(entry.re, entry.im) * voltages[entry.ant] *
               std::complex<double>(turns_(channel, entry.ant));
      }
      const std::size_t x = lists.cells[i].column, y = lists.rows[row];
      if (grid.resampled)
        sum *= finish.correction_x()[x] * finish.correction_y()[y] * static_cast<double>(grid.x.n * grid.y.n);
      plane(x, y) = sum;
    }
  transform_->execute(plane.data());
  for (std::size_t pixel = 0; pixel < pixels().size(); ++pixel) {
    const FinishPixel& at = finish.sky()[place_[pixel]];
    const std::complex<double> value = grid.resampled
                                           ? interpolated(plane, place_[pixel])
                                           : plane(finish.bins_x()[at.column], finish.bins_y()[at.row]);
    field[pixel] =
        std::complex<float>(value * std::sqrt(at.factor) * std::complex<double>(origins_(channel, pixel)));
  }
}

}  // namespace

std::unique_ptr<DirectImager> make_field_fft_imager(EpicPlan plan) {
  plan.autos = true;  // no lags are needed
  return std::make_unique<FieldFft>(std::move(plan));
}

}  // namespace apsyn
