// SPDX-License-Identifier: GPL-3.0-or-later
// From images of the sky to the coarse pixels of A-terms. Where the image is finer than the pixels it is
// first smoothed to what they can carry, by a sinc of their step times a window, six steps wide; then cubic
// convolution (Keys 1981, IEEE Trans. ASSP 29, 1153; a = -1/2, third order at the edges) interpolates it.
// Both directions go through the image's own projection.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/view.h"
#include "libcore/image/image.h"
#include "libcore/sky/aterms.h"

namespace apsyn {

/// The window that ends the sinc, of t = -1 .. 1 across its width.
enum class SmoothingWindow {
  rectangular,
  tukey,
  hann,
  raised_hann,
  gaussian,
  blackman_harris,
  blackman_nuttall
};

/// "raised_hann" or "raised-hann"; std::nullopt when unknown.
std::optional<SmoothingWindow> find_smoothing_window(std::string_view name);
std::vector<std::string> smoothing_window_names();
double smoothing_window(SmoothingWindow window, double t);

class ScreenResampler {
 public:
  /// For images of ny x nx pixels, both at least 4 (std::invalid_argument otherwise). Smoothing is for pixels
  /// `smoothing` times the grid's.
  ScreenResampler(const ImageInfo& image, std::size_t ny, std::size_t nx, const AtermGrid& grid,
                  SmoothingWindow window, double smoothing = 1);

  /// image [ny][nx] -> out [side][side]. Beyond the edges of the image the nearest pixel counts, beyond the
  /// horizon the nearest point of the horizon. Safe from several threads at once.
  void resample(View<const double, 2> image, View<double, 2> out) const;
  /// RMS over the image of what smoothing takes away; 0 when the image is not finer than the grid.
  double lost_rms(View<const double, 2> image) const;
  /// Whether every pixel of the grid above the horizon lies inside the image.
  bool covers_grid() const { return covers_; }

 private:
  /// One direction of the smoothing: every `stride`-th pixel, with these weights about it.
  struct Smoother {
    std::size_t n_in = 0, n_out = 0, stride = 1;
    std::vector<double> weights;  ///< odd length, sum 1
  };
  /// Four neighbours of a position and their weights.
  struct Taps {
    std::size_t first = 0;
    std::array<double, 4> weights{};
  };

  static Smoother make_smoother(std::size_t n, double pixels_per_step, SmoothingWindow window);
  static Taps make_taps(const Smoother& smoother, double pixel);
  void smooth(View<const double, 2> image, Buffer<double, 2>& smoothed) const;

  std::size_t side_;
  Smoother x_, y_;
  std::vector<Taps> taps_x_, taps_y_;  ///< [side * side]
  bool covers_ = true;
};

}  // namespace apsyn
