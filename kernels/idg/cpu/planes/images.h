// SPDX-License-Identifier: GPL-3.0-or-later
// From the cells of all terms in w to the image of one plane of visibilities. The rows v of cells of a pair
// are transformed along u, to E(v) and O(v), and combined so that one transform along v serves both:
//
//   A(v) += E(v) + O(v),     A(-v) += conj(E(v) - O(v)),
//
// whose real part is twice that of the even F and whose imaginary part is twice that of the odd F (planes.h).
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/common/math/fft.h"
#include "kernels/idg/cpu/planes/spread_places.h"
#include "kernels/idg/planes.h"
#include "libcore/base/view.h"

namespace apsyn {

/// How many cells are stored, and where.
struct PlaneCellsShape {
  std::size_t origin = 0;  ///< cells before u = -n_u / 2, and rows before v = 0
  std::size_t n_columns = 0, n_rows = 0;
  std::size_t row_stride = 0;  ///< floats of a row of all terms

  explicit PlaneCellsShape(const PlanesPlan& plan);
};

/// What a pixel takes of the real and imaginary parts of each pair's transform, for all images.
class PlaneScreens {
 public:
  explicit PlaneScreens(const PlanesPlan& plan);
  /// Even and odd of pixels |x - n_x / 2| = x and y = 0, 1 ..; NaN beyond the horizon.
  const float* even(std::size_t pair, std::size_t x) const { return &of_term_(2 * pair, x, 0); }
  const float* odd(std::size_t pair, std::size_t x) const { return &of_term_(2 * pair + 1, x, 0); }

 private:
  Buffer<float, 3> of_term_;  ///< [term][x][y]
};

class PlaneImages {
 public:
  PlaneImages(const PlanesPlan& plan, unsigned n_threads);
  /// The image [y][x], which is overwritten. Rows of cells where row_used is 0 count as zero; those of others
  /// are made zero.
  void make(const TermCells& cells, const std::vector<std::uint8_t>& row_used, View<double, 2> image);
  static std::uint64_t bytes(const PlanesPlan& plan, unsigned n_threads);

 private:
  void transform_rows(const TermCells& cells, const std::vector<std::uint8_t>& row_used);
  void fold_rows();
  void transform_columns(View<double, 2> image);

  /// One thread's.
  struct Scratch {
    Buffer<std::complex<float>, 2> row;     ///< [even, odd][u]
    Buffer<std::complex<float>, 2> column;  ///< [x][v]
    Buffer<float, 2> pixel;                 ///< [x][y]
  };

  PlanesPlan plan_;
  PlaneCellsShape shape_;
  unsigned n_threads_;
  PlaneScreens screens_;
  /// [pair][row of cells][E + O, conj(E - O)][x]
  Buffer<std::complex<float>, 4> rows_;
  std::vector<std::uint8_t> row_made_;  ///< [row of cells]
  std::vector<Scratch> scratch_;        ///< one per thread
  ComplexFft<float> along_u_, along_v_;
};

}  // namespace apsyn
