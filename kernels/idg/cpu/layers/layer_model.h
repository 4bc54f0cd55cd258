// SPDX-License-Identifier: GPL-3.0-or-later
// From model images to the uv grid of a w layer: layer_transform.h transposed.
#pragma once

#include <complex>
#include <vector>

#include "kernels/common/math/fft.h"
#include "kernels/idg/idg.h"

namespace apsyn {

/// Always in float64, like LayerTransform.
class LayerModel {
 public:
  LayerModel(const IdgPlan& plan, unsigned n_threads);
  /// Takes images [plane][y][x] divided by the taper and the w kernel's transform; 0 where l^2 + m^2 >= 1 or
  /// the pixel is NaN. std::invalid_argument for images of another size than the plan's.
  void set(View<const double, 3> images);
  std::size_t n_planes() const { return images_.extent(0); }
  /// The padded FFT of every plane times exp(+2 pi i w (n - 1)) (or (n - n_middle) for the w kernel, whose
  /// other part the visibilities carry): grid [v][u][plane] of the cells that are held, cell k at index k mod
  /// their number; planes of the grid beyond the model's become 0.
  template <class T>
  void transform(double w_lambda, View<std::complex<T>, 3> grid);
  /// Frees what transform() works in until it is called again.
  void release_work() { work_ = {}; }

 private:
  struct Scratch {
    Buffer<std::complex<double>, 2> block;  ///< [column][v], or one row
    Buffer<double, 2> pixel;                ///< [column][y]
    Buffer<double, 1> cosine, sine;         ///< [y]
  };
  void transform_columns(std::size_t plane, double w_lambda);

  IdgPlan plan_;
  unsigned n_threads_;
  Buffer<double, 3> images_;              ///< [plane][y][x]
  std::vector<bool> empty_;               ///< [plane]
  Buffer<std::complex<double>, 2> work_;  ///< [v held][x]
  std::vector<Scratch> scratch_;          ///< one per thread
  ComplexFft<double> rows_, columns_;
};

}  // namespace apsyn
