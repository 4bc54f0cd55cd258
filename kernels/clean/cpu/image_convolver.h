// SPDX-License-Identifier: GPL-3.0-or-later
// Linear convolution of images by FFT, float32. Rows and columns are transformed by one plan each, a few at a
// time, so that the result does not depend on the number of threads.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

#include "kernels/clean/cpu/tile_ops.h"
#include "kernels/common/math/fft.h"
#include "libcore/base/view.h"

namespace apsyn {

class ImageConvolver {
 public:
  /// [kx = 0 .. width / 2][ky = 0 .. height - 1] of the padded image; rows are padded to an even number.
  using Spectrum = Buffer<std::complex<float>, 2>;
  /// Spectrum of a kernel that is its own mirror image along x and along y, which is therefore real and even:
  /// [kx = 0 .. width / 2][ky = 0 .. height / 2].
  using EvenSpectrum = Buffer<float, 2>;
  /// Working memory for one caller at a time; keep it from call to call.
  struct Scratch {
    Spectrum rows;
    std::vector<Spectrum> columns;         ///< [thread]
    std::vector<Buffer<float, 1>> values;  ///< [thread]
  };

  /// For images [ny][nx] and kernels that reach at most (reach_y, reach_x) pixels from their centre. Nothing
  /// wraps around within the image.
  ImageConvolver(std::size_t ny, std::size_t nx, std::size_t reach_y, std::size_t reach_x,
                 unsigned n_threads);

  /// Transforms an image [y][x] of at most ny by nx pixels.
  void transform(View<const float, 2> image, Spectrum& to, Scratch& scratch) const;
  /// Transforms a kernel [y][x] with its centre at (extent / 2); parts beyond the allowed reach are left out.
  Spectrum transform_kernel(View<const float, 2> kernel) const;
  EvenSpectrum transform_even_kernel(View<const float, 2> kernel) const;

  /// out = image (*) kernel, [y][x] of at most ny by nx pixels; returns its highest_value() with a weight of
  /// the same shape.
  float convolve(const Spectrum& image, const EvenSpectrum& kernel, View<float, 2> out,
                 View<const float, 2> weight, PeakSign sign, Scratch& scratch) const;
  /// from -= image (*) kernel, with the image smoothed by `smooth` before, when it is given.
  void subtract_convolved(View<float, 2> from, const Spectrum& image, const Spectrum& kernel,
                          const EvenSpectrum* smooth, Scratch& scratch) const;
  /// A kernel smoothed once or twice: out(y, x) is its value at offset (y - extent / 2, x - extent / 2), zero
  /// beyond what is allowed.
  void smooth_kernel(const Spectrum& kernel, const EvenSpectrum& smooth, unsigned times, View<float, 2> out,
                     Scratch& scratch) const;
  /// The value at offset (0, 0) of a kernel that is smoothed twice.
  double peak_smoothed_twice(const Spectrum& kernel, const EvenSpectrum& smooth) const;

  /// The shortest length of a fast FFT along an axis without wrap-around; GPUs use this one.
  static std::size_t padded(std::size_t n, std::size_t reach);
  static std::uint64_t spectrum_bytes(std::size_t ny, std::size_t nx, std::size_t reach_y,
                                      std::size_t reach_x);

 private:
  struct Placement;  ///< where an array's rows and columns lie in the padded one
  void forward(View<const float, 2> image, const Placement& place, Spectrum& to, Scratch& scratch) const;
  /// `product(kx, to)` makes column kx of the spectrum; `use(y, values, first, last)` takes row y of the
  /// array, of which pixel x is values[(x + place.origin_x) % width].
  template <class Product, class Use>
  void inverse(const Product& product, const Placement& place, const Use& use, Scratch& scratch) const;

  std::size_t ny_, nx_, reach_y_, reach_x_, height_, width_;
  unsigned n_threads_;
  RealFft<float> row_;
  InverseRealFft<float> row_back_;
  ComplexFft<float> column_, column_back_;
};

}  // namespace apsyn
