// SPDX-License-Identifier: GPL-3.0-or-later
// Kernels that spread an antenna's voltage over the cells around it.
//
// Cell j, of kernel_cells^2 around the antenna at u (in cells; likewise v and the second axis), takes c_j E,
// so that at xi = (l, m) du, turns per cell, the transform shows sum_j c_j exp(-2 pi i j.xi) in the place of
// T(xi) F(xi) exp(-2 pi i u.xi). T is the response that all antennas share and that the image is divided by,
// the transform of a Kaiser-Bessel or prolate window of as many cells; F(xi) = exp(-2 pi i w (n - 1)), or 1,
// times conj(a(xi)) of its aperture (EpicPlan::apertures), is the antenna's own. The c_j of an antenna
// minimise
//
// integral over the imaged sky of | sum_j c_j exp(-2 pi i (j - u).xi) / T - F |^2
//
// Without w they are close to the window's own samples; with w they do better than any samples of a window.
#pragma once

#include <array>
#include <complex>
#include <span>
#include <vector>

#include "kernels/common/math/chebyshev_series.h"
#include "kernels/epic/fft/grid.h"

namespace apsyn {

/// T along one axis: the Fourier transform of a window `cells` wide, 1 at 0.
class KernelResponse {
 public:
  KernelResponse() = default;
  /// `edge`: the highest frequency in use, in turns per cell.
  KernelResponse(EpicKernel kind, std::size_t cells, double edge);
  double operator()(double turns_per_cell) const;

 private:
  double beta_ = 0, cells_ = 1, scale_ = 1;
  std::vector<double> place_, value_;  // a prolate window's quadrature
  double edge_ = -1;                   // within which the response is a series in the square of the argument
  ChebyshevSeries series_;
};

class KernelFit {
 public:
  KernelFit(const EpicPlan& plan, const FftGrid& grid);
  std::size_t cells() const { return cells_; }
  const KernelResponse& response_x() const { return response_x_; }
  const KernelResponse& response_y() const { return response_y_; }
  /// First cell along an axis for an antenna at u cells.
  std::int64_t first(double u) const;
  /// c [y][x] of an antenna at (u, v) cells; `w` in wavelengths, 0 for F = 1.
  void weights(double u, double v, double w, std::span<std::complex<double>> c) const;
  /// The same for an antenna with its own response conj(a) at nodes(). Returns the relative RMS error of F.
  double weights(double u, double v, double w, const std::vector<std::complex<double>>& own,
                 std::span<std::complex<double>> c) const;
  /// [node] the xi at which weights() fits, in all four quarters of the sky.
  std::vector<std::array<double, 2>> nodes() const;

 private:
  std::size_t cells_, n_side_;
  KernelResponse response_x_, response_y_;
  std::vector<double> x_, y_;      // [n_side] places of a quarter of the sky, turns per cell
  std::vector<double> response_;   // [n_side y][n_side x] T, 0 where there is no sky
  std::vector<double> n_minus_1_;  // [n_side y][n_side x]
  std::vector<double> factor_;     // Cholesky factor of the normal equations, [cells^2][cells^2]
};

}  // namespace apsyn
