// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/fft/finish.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/common/math/chebyshev_series.h"
#include "libcore/base/constants.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

constexpr std::size_t kTaps = FftFinish::kTaps;
constexpr double kBeta = 0.97 * kPi * kTaps * 0.75;  ///< for twice as many samples as needed

std::size_t wrapped(std::int64_t bin, std::size_t n) {
  const auto length = static_cast<std::int64_t>(n);
  return static_cast<std::size_t>(((bin % length) + length) % length);
}

/// The window at `distance`, `distance` - 1, ... of the kTaps samples around a pixel. It is an entire
/// function of the square, of which 20 terms miss 6e-15 of the peak, in a 28th of the time of the standard
/// library's (12 for 335 ns).
void windows(double distance, double* values) {
  static const ChebyshevSeries series(
      [](double x) { return std::cyl_bessel_i(0.0, kBeta * std::sqrt((1 - x) / 2)); }, 20);
  double x[kTaps], found[kTaps];
  for (std::size_t tap = 0; tap < kTaps; ++tap) {
    const double t = 2 * (distance - static_cast<double>(tap)) / static_cast<double>(kTaps);
    x[tap] = 2 * t * t - 1;
  }
  series.at(x, found);
  for (std::size_t tap = 0; tap < kTaps; ++tap) values[tap] = x[tap] < 1 ? found[tap] : 0;
}

/// The window's Fourier transform, turns per sample.
double window_transform(double turns) {
  const double angle = kPi * static_cast<double>(kTaps) * turns;
  const double root = std::sqrt(kBeta * kBeta - angle * angle);
  return static_cast<double>(kTaps) * std::sinh(root) / root;
}

/// [bin of n] 1 / (n transform) of the lag that the bin stands for in a transform of 2 n.
std::vector<double> lag_corrections(std::size_t n) {
  std::vector<double> out(n);
  for (std::size_t bin = 0; bin < n; ++bin) {
    const double lag = static_cast<double>(bin) - (2 * bin > n ? static_cast<double>(n) : 0.0);
    out[bin] = 1 / (static_cast<double>(n) * window_transform(lag / (2 * static_cast<double>(n))));
  }
  return out;
}

/// Bin of a transform twice as long that holds the same lag.
std::size_t fine_bin(std::size_t bin, std::size_t n) {
  return 2 * bin > n ? bin + n : bin;
}

}  // namespace

FftFinish::FftFinish(const EpicPlan& plan, const EpicGeometry& geometry, const FftGrid& grid,
                     const KernelFit& kernel, const LaneFft& fft_x, const LaneFft& fft_y, std::size_t n_value)
    : grid_(grid),
      kernel_(kernel),
      n_value_(n_value),
      first_(plan.first),
      second_(plan.second),
      cross_(plan.cross) {
  const std::size_t n_x = grid.x.n, n_y = grid.y.n;
  if (grid.resampled) {
    for (std::size_t bin = 0; bin < n_x; ++bin) {
      frequency_x_.push_back(bin);
      pixels_.columns.push_back({fft_x.place[bin], 0, static_cast<std::uint32_t>(n_y)});
    }
    for (std::size_t bin = 0; bin < n_y; ++bin) {
      frequency_y_.push_back(bin);
      pixels_.row_place.push_back(fft_y.place[bin]);
    }
    correction_x_ = lag_corrections(n_x);
    correction_y_ = lag_corrections(n_y);
    to_lags_ = std::make_shared<ComplexFft<double>>(std::array<std::size_t, 2>{n_x, n_y}, 1, FftSign::plus);
    to_fine_ =
        std::make_shared<ComplexFft<double>>(std::array<std::size_t, 2>{2 * n_x, 2 * n_y}, 1, FftSign::minus);
    plan_pixels(plan, geometry);
    index_columns(n_x);
    return;
  }
  for (std::size_t y = 0; y < plan.ny; ++y) {
    frequency_y_.push_back(
        wrapped(static_cast<std::int64_t>(y) - static_cast<std::int64_t>(plan.ny / 2), n_y));
    pixels_.row_place.push_back(fft_y.place[frequency_y_.back()]);
  }
  for (std::size_t x = 0; x < plan.nx; ++x) {
    const std::size_t bin =
        wrapped(static_cast<std::int64_t>(plan.nx / 2) - static_cast<std::int64_t>(x), n_x);
    LanePixels::Column column{fft_x.place[bin], 0, 0};
    for (std::size_t y = 0; y < plan.ny; ++y) {
      const Vec3 s = epic_direction(plan, geometry, x, y);
      if (std::isnan(s[0])) continue;
      if (column.end == 0) column.begin = static_cast<std::uint32_t>(y);
      column.end = static_cast<std::uint32_t>(y + 1);
      const double response = kernel_.response_x()(dot(s, grid.axes[0]) * grid.x.spacing()) *
                              kernel_.response_y()(dot(s, grid.axes[1]) * grid.y.spacing());
      sky_.push_back({static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y),
                      static_cast<std::uint32_t>(pixels_.columns.size()), static_cast<std::uint32_t>(y),
                      1 / (response * response)});
    }
    if (column.end == 0) continue;
    frequency_x_.push_back(bin);
    pixels_.columns.push_back(column);
  }
  index_columns(n_x);
}

void FftFinish::index_columns(std::size_t n) {
  pixels_.column_at.assign(n, static_cast<std::uint32_t>(pixels_.columns.size()));
  for (std::size_t i = 0; i < pixels_.columns.size(); ++i)
    pixels_.column_at[pixels_.columns[i].place] = static_cast<std::uint32_t>(i);
}

void FftFinish::aim(const EpicPlan& plan, const EpicGeometry& geometry) {
  if (grid_.resampled) plan_pixels(plan, geometry);
}

/// Where each pixel of the image lies in the transform's, refined twice, and what weighs its neighbours.
void FftFinish::plan_pixels(const EpicPlan& plan, const EpicGeometry& geometry) {
  struct Row {
    std::vector<FinishPixel> sky;
    std::vector<double> taps;
  };
  std::vector<Row> rows(plan.ny);
  parallel_for(plan.n_threads, rows.size(), [&](std::size_t y, unsigned) {
    Row& row = rows[y];
    const auto add_taps = [&](double at, std::size_t n) {
      const auto begin = static_cast<std::int64_t>(std::ceil(at - static_cast<double>(kTaps) / 2));
      row.taps.resize(row.taps.size() + kTaps);
      windows(at - static_cast<double>(begin), row.taps.data() + row.taps.size() - kTaps);
      return static_cast<std::uint32_t>(wrapped(begin, n));
    };
    for (std::size_t x = 0; x < plan.nx; ++x) {
      const Vec3 s = epic_direction(plan, geometry, x, y);
      if (std::isnan(s[0])) continue;
      const double l = dot(s, grid_.axes[0]), m = dot(s, grid_.axes[1]);
      const double response =
          kernel_.response_x()(l * grid_.x.spacing()) * kernel_.response_y()(m * grid_.y.spacing());
      FinishPixel pixel{static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), 0, 0,
                        1 / (response * response)};
      pixel.column = add_taps(2 * l / grid_.x.cell, 2 * grid_.x.n);
      pixel.row = add_taps(2 * m / grid_.y.cell, 2 * grid_.y.n);
      row.sky.push_back(pixel);
    }
  });
  sky_.clear();
  taps_.clear();
  for (const Row& row : rows) {
    sky_.insert(sky_.end(), row.sky.begin(), row.sky.end());
    taps_.insert(taps_.end(), row.taps.begin(), row.taps.end());
  }
}

void FftFinish::unpack(const double* sums, std::size_t pack, Packed& to) const {
  const std::size_t n_row = pixels_.row_place.size();
  to.resize_for_overwrite({pixels_.columns.size(), n_row});
  for (std::size_t column = 0; column < pixels_.columns.size(); ++column)
    for (std::size_t row = 0; row < n_row; ++row) {
      const double* from = sums + (column * pixels_.n_row() + row) * n_value_ + 2 * pack;
      to(column, row) = {from[0], n_value_ > 1 ? from[1] : 0.0};
    }
}

/// At each pixel sum_d lag_d exp(-2 pi i d.q / N), one axis after the other.
void FftFinish::subtract_lags(const PackedLags& lags, std::size_t pack, Packed& from) const {
  const std::size_t n = lags.extent(1), middle = n / 2;
  const auto turns = [&](std::size_t bin, std::size_t length) {
    std::vector<std::complex<double>> out;
    for (std::size_t i = 0; i < n; ++i)
      out.push_back(std::polar(1.0, -kTwoPi * static_cast<double>(bin) *
                                        (static_cast<double>(i) - static_cast<double>(middle)) /
                                        static_cast<double>(length)));
    return out;
  };
  std::vector<std::vector<std::complex<double>>> turn_y;
  for (std::size_t bin : frequency_y_) turn_y.push_back(turns(bin, grid_.y.n));
  for (std::size_t column = 0; column < pixels_.columns.size(); ++column) {
    const auto turn_x = turns(frequency_x_[column], grid_.x.n);
    std::vector<std::complex<double>> of_dy(n);
    for (std::size_t dy = 0; dy < n; ++dy)
      for (std::size_t dx = 0; dx < n; ++dx) of_dy[dy] += lags(pack, dy, dx) * turn_x[dx];
    for (std::size_t row = pixels_.columns[column].begin; row < pixels_.columns[column].end; ++row) {
      std::complex<double> sum = 0;
      for (std::size_t dy = 0; dy < n; ++dy) sum += of_dy[dy] * turn_y[row][dy];
      from(column, row) -= sum;
    }
  }
}

void FftFinish::refine(const PackedLags& lags, std::size_t pack, const Packed& plane, Packed& fine) const {
  const std::size_t n_x = grid_.x.n, n_y = grid_.y.n;
  Packed spectrum({n_x, n_y});
  std::copy(plane.begin(), plane.end(), spectrum.begin());
  to_lags_->execute(spectrum.data());
  if (lags.size() > 0) {
    const auto middle = static_cast<std::int64_t>(lags.extent(1) / 2);
    const double n = static_cast<double>(n_x * n_y);
    for (std::int64_t dy = -middle; dy <= middle; ++dy)
      for (std::int64_t dx = -middle; dx <= middle; ++dx)
        spectrum(wrapped(dx, n_x), wrapped(dy, n_y)) -= n * lags(pack, dy + middle, dx + middle);
  }
  fine.resize({2 * n_x, 2 * n_y});
  for (std::size_t x = 0; x < n_x; ++x)
    for (std::size_t y = 0; y < n_y; ++y)
      fine(fine_bin(x, n_x), fine_bin(y, n_y)) = spectrum(x, y) * (correction_x_[x] * correction_y_[y]);
  to_fine_->execute(fine.data());
}

void FftFinish::run(const double* sums, const PackedLags& lags, double scale, View<float, 3> planes) const {
  std::fill(planes.begin(), planes.end(), std::numeric_limits<float>::quiet_NaN());
  Packed plane, fine;
  for (std::size_t pack = 0; pack < n_pack(); ++pack) {
    unpack(sums, pack, plane);
    if (grid_.resampled)
      refine(lags, pack, plane, fine);
    else if (lags.size() > 0)
      subtract_lags(lags, pack, plane);
    // of the two parts, those that are wanted have a plane
    const bool parts[2] = {n_value_ == 1 || (pack == 0 ? first_ : cross_),
                           n_value_ > 1 && (pack == 0 ? second_ : cross_)};
    const std::size_t base = pack == 0 ? 0 : (first_ ? 1u : 0u) + (second_ ? 1u : 0u);
    for (std::size_t i = 0; i < sky_.size(); ++i) {
      const FinishPixel& pixel = sky_[i];
      std::complex<double> value = 0;
      if (grid_.resampled) {
        const double* tap_x = taps_.data() + i * 2 * kTaps;
        const double* tap_y = tap_x + kTaps;
        for (std::size_t a = 0; a < kTaps; ++a) {
          std::size_t column = pixel.column + a;
          if (column >= fine.extent(0)) column -= fine.extent(0);
          std::complex<double> sum = 0;
          for (std::size_t b = 0; b < kTaps; ++b) {
            std::size_t row = pixel.row + b;
            if (row >= fine.extent(1)) row -= fine.extent(1);
            sum += tap_y[b] * fine(column, row);
          }
          value += tap_x[a] * sum;
        }
      } else {
        value = plane(pixel.column, pixel.row);
      }
      value *= pixel.factor * scale;
      std::size_t to = base;
      if (parts[0]) planes(to++, pixel.y, pixel.x) = static_cast<float>(value.real());
      if (parts[1]) planes(to, pixel.y, pixel.x) = static_cast<float>(value.imag());
    }
  }
}

std::uint64_t FftFinish::scratch_bytes(const EpicPlan& plan, const FftGrid& grid) {
  const std::uint64_t pixels = grid.resampled ? 6 * grid.x.n * grid.y.n : plan.nx * plan.ny;
  return pixels * sizeof(std::complex<double>);
}

}  // namespace apsyn
