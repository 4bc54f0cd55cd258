// SPDX-License-Identifier: GPL-3.0-or-later
// From the uv grid of a w layer to the image.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "kernels/common/math/fft.h"
#include "kernels/idg/idg.h"

namespace apsyn {

/// n - 1 without cancellation; NaN where l^2 + m^2 >= 1.
double n_minus_one(double l, double m);
/// image[y][x] divided by the taper and the w kernel's transform; NaN where l^2 + m^2 >= 1.
void correct_image(const IdgPlan& plan, unsigned n_threads, View<double, 2> image);

/// Number of rows ahead that loops down a column prefetch: every row lies in another page, and hardware
/// prefetchers do not cross pages.
inline constexpr std::size_t kRowsAhead = 8;
/// Padding behind each row, in complex numbers: rows a power of two apart would compete for the same few
/// cache lines.
inline constexpr std::size_t kRowGap = 4;
inline void will_read(const void* address) {
  __builtin_prefetch(address, 0);
}
inline void will_write(const void* address) {
  __builtin_prefetch(address, 1);
}

/// Index among all n cells of a row or column, given the index among the n_held cells that are stored.
inline std::size_t index_in_all(std::size_t index, std::size_t n_held, std::size_t n) {
  return index < (n_held + 1) / 2 ? index : n - n_held + index;
}

/// Always in float64, whatever the grid's precision: the division by the taper would magnify an FFT's
/// rounding.
class LayerTransform {
 public:
  LayerTransform(const IdgPlan& plan, unsigned n_threads);
  /// image[y][x] += Re of the layer's field times exp(-2 pi i w (n - 1)) (or (n - n_middle) for the w kernel,
  /// whose other part the visibilities carry). `grid` [v][u] of the cells that are held, cell k at index k
  /// mod their number. Rows of the grid where row_used is 0 count as zero, whatever they hold.
  template <class T>
  void add(View<const std::complex<T>, 2> grid, const std::vector<std::uint8_t>& row_used, double w_lambda,
           View<double, 2> image);
  /// correct_image() with the plan's.
  void correct(View<double, 2> image) const;

 private:
  void transform_columns(const std::vector<std::uint8_t>& row_used, double w_lambda, View<double, 2> image);

  /// One thread's.
  struct Columns {
    Buffer<std::complex<double>, 2> value;  ///< [column][v]
    Buffer<double, 2> turned;               ///< [column][y]
    Buffer<double, 1> cosine, sine;         ///< [y]
  };

  IdgPlan plan_;
  unsigned n_threads_;
  Buffer<std::complex<double>, 2> work_;  ///< [v held][u], rows that are used
  std::vector<Columns> columns_of_;       ///< one per thread
  ComplexFft<double> rows_, columns_;
};

}  // namespace apsyn
