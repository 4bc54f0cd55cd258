// SPDX-License-Identifier: GPL-3.0-or-later
// The short kernel that puts a visibility on fine cells (inside its subgrid, in image-domain gridding) on the
// CPU.
//
// A subgrid's image at pixel x (|x| < L / 2, the whole padded field) is sum_k V_k exp(-2 pi i du_k x / L).
// With fine cells j, `oversampling` of them for each uv cell, and phi a Kaiser-Bessel window over
// `width` fine cells (its aliases measured 1.5 times less than those of the exponential of a semicircle),
//
//   exp(-2 pi i du x / L) = 1 / transform(x / (oversampling L))
//                           sum_j phi(s - j) exp(-2 pi i j x / (oversampling L)),    s = oversampling du,
//
// so that a visibility costs width^2 cells instead of L^2 pixels. What the sum leaves out repeats the image
// `oversampling` fields away. Errors over the image count, and those over the padding around it as much as
// they come back from there: a field padded by 1.5 is worth nearly half as much oversampling again.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace apsyn {

class SpreadKernel {
 public:
  SpreadKernel(std::size_t width, double oversampling, double beta, double error);
  std::size_t width() const { return width_; }
  double oversampling() const { return oversampling_; }
  double beta() const { return beta_; }

  /// Cell ceil(s - width / 2) + t takes sum_p coefficients()[p * stride() + t] q^p with
  /// q = 2 (ceil(s - width / 2) - (s - width / 2)) - 1 in [-1, 1]; values of t >= width are 0.
  const std::vector<double>& coefficients() const { return coefficients_; }
  std::size_t stride() const { return (width_ + 7) / 8 * 8; }
  std::size_t degree() const { return coefficients_.size() / stride() - 1; }
  /// sum over cells of the polynomials' Fourier transform; frequency in turns per fine cell.
  double transform(double frequency) const;

 private:
  double fit(std::size_t degree);

  std::size_t width_;
  double oversampling_, beta_;
  std::vector<double> coefficients_;
};

/// What an error at eta, 1 / padding to 1 of the padded field's half side, counts in the image; none:
/// nothing.
using PaddingShare = std::function<double(double eta)>;

/// The narrowest kernel whose error is at most `error` and some wider ones that need fewer cells, each with
/// the least oversampling that serves.
std::vector<SpreadKernel> spread_kernels(double error, double padding, const PaddingShare& share = {});

}  // namespace apsyn
