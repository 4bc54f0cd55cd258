// SPDX-License-Identifier: GPL-3.0-or-later
// Linear convolution of images by FFT, float32. Rows and columns are transformed by one plan each, a few at a
// time, so that the result does not depend on the number of threads.
#pragma once

#include <complex>
#include <cstddef>

#include "kernels/common/fft.h"
#include "libcore/core/view.h"

namespace apsyn {

class ImageConvolver {
 public:
  /// [kx = 0 .. width / 2][ky = 0 .. height - 1] of the padded image.
  using Spectrum = Buffer<std::complex<float>, 2>;

  /// For images [ny][nx] and kernels that reach at most (reach_y, reach_x) pixels from their centre. Nothing
  /// wraps around within the image.
  ImageConvolver(std::size_t ny, std::size_t nx, std::size_t reach_y, std::size_t reach_x,
                 unsigned n_threads);

  /// Of an image [y][x] of at most ny by nx pixels.
  Spectrum transform(View<const float, 2> image) const;
  /// Of a kernel [y][x] with its centre at (extent / 2); what reaches further than allowed is left out.
  Spectrum transform_kernel(View<const float, 2> kernel) const;
  /// `a` times `b` back in the image domain, normalised; `out` [ny][nx] or smaller.
  void invert_product(const Spectrum& a, const Spectrum& b, View<float, 2> out) const;
  /// The same, centred as a kernel: out(y, x) is the value at offset (y - extent / 2, x - extent / 2).
  void invert_kernel_product(const Spectrum& a, const Spectrum& b, View<float, 2> out) const;

  /// Length along an axis that nothing wraps around in.
  static std::size_t padded(std::size_t n, std::size_t reach);
  static std::uint64_t spectrum_bytes(std::size_t ny, std::size_t nx, std::size_t reach_y,
                                      std::size_t reach_x);

 private:
  struct Placement;  ///< where an array's rows and columns lie in the padded one
  Spectrum forward(View<const float, 2> image, const Placement& place) const;
  void inverse(const Spectrum& a, const Spectrum& b, View<float, 2> out, const Placement& place) const;

  std::size_t ny_, nx_, reach_y_, reach_x_, height_, width_;
  unsigned n_threads_;
  RealFft<float> row_;
  InverseRealFft<float> row_back_;
  ComplexFft<float> column_, column_back_;
};

/// a *= b, elementwise.
void multiply(ImageConvolver::Spectrum& a, const ImageConvolver::Spectrum& b, unsigned n_threads);

}  // namespace apsyn
