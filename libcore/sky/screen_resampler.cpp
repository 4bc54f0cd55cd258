// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/sky/screen_resampler.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "libcore/base/constants.h"
#include "libcore/sky/projection.h"

namespace apsyn {
namespace {

constexpr double kHalfWidth = 3;  // of the smoothing, in steps of the grid

constexpr std::array<std::pair<const char*, SmoothingWindow>, 7> kWindows{{
    {"rectangular", SmoothingWindow::rectangular},
    {"tukey", SmoothingWindow::tukey},
    {"hann", SmoothingWindow::hann},
    {"raised_hann", SmoothingWindow::raised_hann},
    {"gaussian", SmoothingWindow::gaussian},
    {"blackman_harris", SmoothingWindow::blackman_harris},
    {"blackman_nuttall", SmoothingWindow::blackman_nuttall},
}};

double sinc(double x) {
  return x == 0 ? 1 : std::sin(kPi * x) / (kPi * x);
}

double cosines(const std::array<double, 4>& a, double t) {
  return a[0] + a[1] * std::cos(kPi * t) + a[2] * std::cos(2 * kPi * t) + a[3] * std::cos(3 * kPi * t);
}

}  // namespace

std::optional<SmoothingWindow> find_smoothing_window(std::string_view name) {
  std::string plain(name);
  std::replace(plain.begin(), plain.end(), '-', '_');
  for (const auto& [known, window] : kWindows)
    if (plain == known) return window;
  return std::nullopt;
}

std::vector<std::string> smoothing_window_names() {
  std::vector<std::string> names;
  for (const auto& [name, window] : kWindows) names.emplace_back(name);
  return names;
}

double smoothing_window(SmoothingWindow window, double t) {
  t = std::abs(t);
  if (t > 1) return 0;
  switch (window) {
    case SmoothingWindow::rectangular:
      return 1;
    case SmoothingWindow::tukey:
      return t < 0.5 ? 1 : 0.5 - 0.5 * std::cos(kTwoPi * t);
    case SmoothingWindow::hann:
      return 0.5 + 0.5 * std::cos(kPi * t);
    case SmoothingWindow::raised_hann:
      return 0.55 + 0.45 * std::cos(kPi * t);
    case SmoothingWindow::gaussian:
      return std::exp(-4.5 * t * t);
    case SmoothingWindow::blackman_harris:
      return cosines({0.35875, 0.48829, 0.14128, 0.01168}, t);
    case SmoothingWindow::blackman_nuttall:
      return cosines({0.3635819, 0.4891775, 0.1365995, 0.0106411}, t);
  }
  return 0;
}

ScreenResampler::Smoother ScreenResampler::make_smoother(std::size_t n, double pixels_per_step,
                                                         SmoothingWindow window) {
  Smoother out{n, n, 1, {1}};
  if (pixels_per_step <= 1) return out;
  // Two smoothed pixels per step and more: what is left above their own Nyquist frequency is small.
  out.stride = std::clamp<std::size_t>(static_cast<std::size_t>(pixels_per_step / 2), 1, (n - 1) / 3);
  out.n_out = (n - 2 + out.stride) / out.stride + 1;
  const double half = kHalfWidth * pixels_per_step;
  const auto reach = static_cast<long>(half);
  out.weights.clear();
  double sum = 0;
  for (long j = -reach; j <= reach; ++j) {
    const auto offset = static_cast<double>(j);
    out.weights.push_back(sinc(offset / pixels_per_step) * smoothing_window(window, offset / half));
    sum += out.weights.back();
  }
  for (double& weight : out.weights) weight /= sum;
  return out;
}

ScreenResampler::Taps ScreenResampler::make_taps(const Smoother& smoother, double pixel) {
  const std::size_t n = smoother.n_out;
  const double position = pixel / static_cast<double>(smoother.stride);
  const auto below = std::min(static_cast<std::size_t>(position), n - 2);
  const double t = position - static_cast<double>(below);
  const std::array<double, 4> keys{0.5 * t * (t * (2 - t) - 1), 0.5 * (t * t * (3 * t - 5) + 2),
                                   0.5 * t * (t * (4 - 3 * t) + 1), 0.5 * t * t * (t - 1)};
  Taps taps;
  if (below == 0) {  // the point before the first is 3 f0 - 3 f1 + f2
    taps.first = 0;
    taps.weights = {keys[1] + 3 * keys[0], keys[2] - 3 * keys[0], keys[3] + keys[0], 0};
  } else if (below == n - 2) {
    taps.first = n - 4;
    taps.weights = {0, keys[0] + keys[3], keys[1] - 3 * keys[3], keys[2] + 3 * keys[3]};
  } else {
    taps.first = below - 1;
    taps.weights = keys;
  }
  return taps;
}

ScreenResampler::ScreenResampler(const ImageInfo& image, std::size_t ny, std::size_t nx,
                                 const AtermGrid& grid, SmoothingWindow window, double smoothing)
    : side_(grid.side) {
  if (nx < 4 || ny < 4) throw std::invalid_argument("ScreenResampler: at least 4 x 4 pixels are needed");
  const double cell_y_rad = image.cell_y_rad > 0 ? image.cell_y_rad : image.cell_rad;
  x_ = make_smoother(nx, smoothing * std::abs(grid.step_l_rad) / image.cell_rad, window);
  y_ = make_smoother(ny, smoothing * std::abs(grid.step_m_rad) / cell_y_rad, window);
  const auto reference = reference_pixel(image, nx, ny);
  const bool same_plane = image.centre == grid.centre;
  const auto last_x = static_cast<double>(nx - 1), last_y = static_cast<double>(ny - 1);
  for (std::size_t y = 0; y < side_; ++y)
    for (std::size_t x = 0; x < side_; ++x) {
      double l = grid.l(x), m = grid.m(y);
      const double distance = std::hypot(l, m);
      if (distance >= 1) {
        l /= distance;
        m /= distance;
      }
      if (!same_plane) {
        const DirectionCosines there = project(image.centre, unproject(grid.centre, l, m));
        // What lies behind the image's own horizon has its nearest point there.
        const double reach = there.n < 0 ? std::hypot(there.l, there.m) : 1;
        l = there.l / reach;
        m = there.m / reach;
        if (there.n < 0 && distance < 1) covers_ = false;
      }
      const double px = reference[0] - l / image.cell_rad, py = reference[1] + m / cell_y_rad;
      // Half a pixel of slack: the outer pixels reach that far.
      if (distance < 1 && !(px >= -0.5 && px <= last_x + 0.5 && py >= -0.5 && py <= last_y + 0.5))
        covers_ = false;
      taps_x_.push_back(make_taps(x_, std::clamp(px, 0.0, last_x)));
      taps_y_.push_back(make_taps(y_, std::clamp(py, 0.0, last_y)));
    }
}

void ScreenResampler::smooth(View<const double, 2> image, Buffer<double, 2>& smoothed) const {
  const std::size_t reach_x = x_.weights.size() / 2, reach_y = y_.weights.size() / 2;
  std::vector<const double*> rows(y_.weights.size());
  // A row with what continues it on either side.
  Buffer<double, 1> padded({reach_x + x_.n_in + reach_x + x_.stride});
  double* const row = padded.data() + reach_x;
  smoothed.resize({y_.n_out, x_.n_out});
  for (std::size_t y = 0; y < y_.n_out; ++y) {
    for (std::size_t j = 0; j < rows.size(); ++j) {
      const std::size_t at = std::max(y * y_.stride + j, reach_y) - reach_y;
      rows[j] = &image(std::min(at, y_.n_in - 1), 0);
    }
    // A few columns at a time, so that their sums stay in registers.
    constexpr std::size_t kBlock = 16;
    std::size_t x0 = 0;
    for (; x0 + kBlock <= x_.n_in; x0 += kBlock) {
      double sums[kBlock] = {};
      for (std::size_t j = 0; j < rows.size(); ++j)
        for (std::size_t i = 0; i < kBlock; ++i) sums[i] += y_.weights[j] * rows[j][x0 + i];
      std::copy(sums, sums + kBlock, row + x0);
    }
    for (; x0 < x_.n_in; ++x0) {
      row[x0] = 0;
      for (std::size_t j = 0; j < rows.size(); ++j) row[x0] += y_.weights[j] * rows[j][x0];
    }
    std::fill(padded.begin(), padded.begin() + reach_x, row[0]);
    std::fill(row + x_.n_in, padded.end(), row[x_.n_in - 1]);
    for (std::size_t x = 0; x < x_.n_out; ++x) {
      const double* in = padded.data() + x * x_.stride;
      // Four sums, because one would wait for itself.
      std::array<double, 4> sums{};
      std::size_t j = 0;
      for (; j + 4 <= x_.weights.size(); j += 4)
        for (std::size_t i = 0; i < 4; ++i) sums[i] += x_.weights[j + i] * in[j + i];
      for (; j < x_.weights.size(); ++j) sums[0] += x_.weights[j] * in[j];
      smoothed(y, x) = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
  }
}

void ScreenResampler::resample(View<const double, 2> image, View<double, 2> out) const {
  Buffer<double, 2> smoothed;
  View<const double, 2> source = image;
  if (x_.weights.size() > 1 || y_.weights.size() > 1) {
    smooth(image, smoothed);
    source = smoothed;
  }
  for (std::size_t pixel = 0; pixel < side_ * side_; ++pixel) {
    const Taps &tx = taps_x_[pixel], &ty = taps_y_[pixel];
    double sum = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const double* in = &source(ty.first + j, tx.first);
      sum += ty.weights[j] *
             (tx.weights[0] * in[0] + tx.weights[1] * in[1] + tx.weights[2] * in[2] + tx.weights[3] * in[3]);
    }
    out.data()[pixel] = sum;
  }
}

double ScreenResampler::lost_rms(View<const double, 2> image) const {
  if (x_.weights.size() == 1 && y_.weights.size() == 1) return 0;
  Buffer<double, 2> smoothed;
  smooth(image, smoothed);
  double sum = 0;
  std::size_t n = 0;
  for (std::size_t y = 0; y * y_.stride < y_.n_in; ++y)
    for (std::size_t x = 0; x * x_.stride < x_.n_in; ++x, ++n) {
      const double lost = smoothed(y, x) - image(y * y_.stride, x * x_.stride);
      sum += lost * lost;
    }
  return std::sqrt(sum / static_cast<double>(n));
}

}  // namespace apsyn
