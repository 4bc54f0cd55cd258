// SPDX-License-Identifier: GPL-3.0-or-later
// The field by gridding and a transform.
#include <cmath>
#include <optional>

#include "kernels/epic/field/grid.h"
#include "kernels/epic/field/imager.h"
#include "libcore/base/constants.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

using Plane = Buffer<std::complex<double>, 2>;  // [column][row]

class FieldFft final : public FieldImager {
 public:
  explicit FieldFft(EpicPlan plan) : FieldImager(std::move(plan)), grid_(this->plan()) {}

 private:
  void aim(const EpicGeometry& geometry) override;
  void image(std::size_t channel, std::size_t pol, const std::vector<std::complex<double>>& voltages,
             View<std::complex<float>, 1> field) override;
  /// `pixel`: of FftFinish::sky().
  std::complex<double> interpolated(const Plane& plane, std::size_t pixel) const;

  FieldGrid grid_;
  std::optional<ComplexFft<double>> transform_;
  Buffer<std::complex<float>, 2> turns_;    // [channel][ant] what fft_factors() adds to g
  Buffer<std::complex<float>, 2> origins_;  // [channel][pixel] phase of the grid's first cell
};

void FieldFft::aim(const EpicGeometry& geometry) {
  if (grid_.aim(geometry, pixels())) {
    const FftGrid& grid = grid_.gridded().grid;
    transform_.emplace(std::array<std::size_t, 2>{grid_.fine() * grid.x.n, grid_.fine() * grid.y.n}, 1,
                       FftSign::minus);
  }
  const FftGrid& grid = grid_.gridded().grid;
  turns_.resize_for_overwrite({plan().n_channel(), plan().n_ant});
  origins_.resize_for_overwrite({plan().n_channel(), pixels().size()});
  parallel_for(plan().n_threads, plan().n_channel(), [&](std::size_t channel, unsigned) {
    const double hz = plan().channel_hz[channel], per_m = hz / kSpeedOfLight_m_s;
    for (std::size_t ant = 0; ant < plan().n_ant; ++ant)
      turns_(channel, ant) = std::complex<float>(std::polar(
          1.0, kTwoPi * (hz * geometry.delay_s[ant] - per_m * grid.place(geometry.enu_m[ant])[2])));
    const Vec3 origin = grid_.origin(channel);
    for (std::size_t pixel = 0; pixel < pixels().size(); ++pixel) {
      const Vec3 s{pixels().unit(pixel, 0), pixels().unit(pixel, 1), pixels().unit(pixel, 2)};
      origins_(channel, pixel) = std::complex<float>(std::polar(1.0, -kTwoPi * dot(origin, s)));
    }
  });
}

std::complex<double> FieldFft::interpolated(const Plane& plane, std::size_t pixel) const {
  constexpr std::size_t kTaps = FftFinish::kTaps;
  const FftFinish& finish = grid_.gridded().finish;
  const FinishPixel& at = finish.sky()[pixel];
  const double* tap_x = finish.taps().data() + pixel * 2 * kTaps;
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
  const FftGrid& grid = grid_.gridded().grid;
  const FftFinish& finish = grid_.gridded().finish;
  const GridLists& lists = grid_.gridded().lists[channel];
  Plane plane({grid_.fine() * grid.x.n, grid_.fine() * grid.y.n});
  for (std::size_t row = 0; row < lists.rows.size(); ++row)
    for (std::size_t i = lists.row_begin[row]; i < lists.row_begin[row + 1]; ++i) {
      std::complex<double> sum = 0;
      for (std::size_t k = lists.cells[i].begin; k < lists.cells[i + 1].begin; ++k) {
        const GridEntry& entry = lists.entries[k];
        sum += std::complex<double>(entry.re, entry.im) * voltages[entry.ant] *
               std::complex<double>(turns_(channel, entry.ant));
      }
      const std::size_t x = lists.cells[i].column, y = lists.rows[row];
      plane(x, y) = sum * grid_.correction(y, x);
    }
  transform_->execute(plane.data());
  for (std::size_t pixel = 0; pixel < pixels().size(); ++pixel) {
    const FinishPixel& at = finish.sky()[grid_.place()[pixel]];
    const std::complex<double> value = grid.resampled
                                           ? interpolated(plane, grid_.place()[pixel])
                                           : plane(finish.bins_x()[at.column], finish.bins_y()[at.row]);
    field[pixel] =
        std::complex<float>(value * std::sqrt(at.factor) * std::complex<double>(origins_(channel, pixel)));
  }
}

}  // namespace

std::unique_ptr<DirectImager> make_field_fft_imager(EpicPlan plan) {
  return std::make_unique<FieldFft>(std::move(plan));
}

}  // namespace apsyn
