// SPDX-License-Identifier: GPL-3.0-or-later
// What happens to a subgrid between the products of cpu/degrid/subgrid_predictor.h: everything that goes
// through its cells or pixels once. A value is [plane][re, im], 2, 4 or 8 real ones.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <vector>

#include "libcore/base/view.h"

namespace apsyn {

/// Cells of one axis at +-k from the middle, for P(+-x) = sum cos even +- sum sin odd, which is
/// sum_k G_k exp(-2 pi i k x / L): even = G_k + G_-k for 0 <= k < half (G_0 alone for k = 0), odd =
/// -i (G_k - G_-k) for 0 < k <= half (i G_-half for k = half; odd[k] of k = 0 is not wanted).
template <class T>
struct AxisFolding {
  std::size_t half = 0, n_other = 0, n_values = 2;
  const T* cells = nullptr;  ///< [other][-half <= k < half][value]
  std::size_t cell_stride = 0, other_stride = 0;
  T* even = nullptr;  ///< [k][other][value]
  T* odd = nullptr;   ///< [k - 1][other][value]
  std::size_t k_stride = 0;
};
void fold_axis(const AxisFolding<float>& folding);
void fold_axis(const AxisFolding<double>& folding);

/// The same for whole rows of cells, multiples of 64 bytes: above at +k, below at -k.
void fold_rows(std::size_t n, const float* above, const float* below, float* even, float* odd);
void fold_rows(std::size_t n, const double* above, const double* below, double* even, double* odd);

/// Jones matrices of one station: of pixel (x, y) at origin + x x_stride + y y_stride, XX XY YX YY.
struct JonesPixels {
  const std::complex<float>* origin = nullptr;
  std::ptrdiff_t x_stride = 0, y_stride = 0;
};

/// to [x][y][XX XY YX YY] = A_p (sum_s mix[s] from[s]) A_q^H.
template <class T>
struct AtermStage {
  std::size_t side = 0, n_values = 2;
  const T* from = nullptr;  ///< [x][y][value], rows of one x from_stride apart
  std::size_t from_stride = 0;
  const std::vector<std::array<std::complex<double>, 4>>* mix = nullptr;
  JonesPixels p{}, q{};
  T* to = nullptr;
  std::size_t to_stride = 0;
};
void apply_aterms(const AtermStage<float>& stage);
void apply_aterms(const AtermStage<double>& stage);

/// Pixels [x][y] of the whole side to [parity x][parity y][x][y] of the positive quadrant: sums (0) and
/// differences (1) over +-, i times for each odd axis, times scale.
template <class T>
struct PixelFolding {
  std::size_t half = 0, n_values = 2;
  const T* pixels = nullptr;
  std::size_t x_stride = 0;
  T scale = 1;
  T* folded = nullptr;
};
void fold_pixels(const PixelFolding<float>& folding);
void fold_pixels(const PixelFolding<double>& folding);

/// One term of the folded pixels: times a screen [y][x], whose rows are screen_stride apart, into
/// [parity x][parity y][x][y] values pixel_stride apart.
template <class T>
struct TermExpansion {
  std::size_t half = 0, n_values = 2;
  const T* folded = nullptr;
  const T* re = nullptr;
  const T* im = nullptr;
  std::size_t screen_stride = 0;
  T* to = nullptr;
  std::size_t pixel_stride = 0;
};
void expand_term(const TermExpansion<float>& expansion);
void expand_term(const TermExpansion<double>& expansion);

}  // namespace apsyn
