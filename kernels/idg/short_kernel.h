// SPDX-License-Identifier: GPL-3.0-or-later
// The kernel that takes a visibility to and from the fine cells of one subgrid on the CPU.
//
// Over the field of a subgrid, f(theta) = sum_x P_x exp(i x theta) with |x| < L / 2 varies so slowly that
// `support` samples on each axis, `oversampling` times finer than the uv cells, give it:
//
//   f(theta) = sum_q phi(s - q) g_q,   g_q = sum_x P_x / correction(x) exp(2 pi i x q / (oversampling L)),
//
// s = oversampling * du being the place in fine cells and phi the exponential of a semicircle (Barnett,
// Magland and af Klinteberg 2019). What is a sum over L^2 pixels in the image domain is one over support^2
// fine cells, and the image domain keeps what belongs there: tapers, A-terms, w.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/idg/w_terms.h"

namespace apsyn {

class ShortKernel {
 public:
  static constexpr double oversampling = 2;

  /// For a relative RMS error about `error` over the field of a subgrid of `side` pixels.
  ShortKernel(double error, std::size_t side);
  std::size_t support() const { return support_; }
  /// integral phi(s) cos(2 pi x s / (oversampling side)) ds, in fine cells; x in pixels from the middle.
  double correction(double x) const;

  /// The values at the `support` cells from ceil(s - support / 2) on: cell j's is
  /// sum_k coefficient[k][j] z^k with z = 2 (ceil(s - support / 2) - (s - support / 2)) - 1, |z| <= 1.
  /// Rows of `stride` values, those beyond the support 0; the degree keeps the fit below `error` / 10.
  const std::vector<double>& coefficients() const { return coefficients_; }
  std::size_t stride() const { return (support_ + 7) / 8 * 8; }
  std::size_t degree() const { return coefficients_.size() / stride() - 1; }
  /// Fine cells that visibilities within `reach` fine cells of the middle touch, an even number; cell j lies
  /// at j - (cells - 1) / 2.
  std::size_t cells(double reach) const;

 private:
  void fit(std::size_t degree);
  double fit_error() const;

  std::size_t support_;
  double side_, beta_;
  SemicircleTransform transform_;
  std::vector<double> coefficients_;  ///< [power][cell]
};

}  // namespace apsyn
