// SPDX-License-Identifier: GPL-3.0-or-later
// Kernels that spread a pair and hold what w adds to its phase, so that an image of many pairs takes one
// transform and not one for each order of w (pair_orders.h). With cells of a grid at whole numbers along an
// axis, pixels at frequencies x (turns from cell to cell), and w or a height h times dn = n - n_middle,
//   exp(2 pi i (s_x x + s_y y)) exp(-2 pi i h dn(x, y)),
//   dn(x, y) = f(x) + g(y) + sum_r a_r(x) b_r(y),
// is nearly exp(-2 pi i h f) exp(-2 pi i h g) (1 - 2 pi i h sum_r a_r b_r): a small sum of terms, each of
// which is a product of a function of x and one of y. What is left after f and g, the means of dn over the
// other axis, is taken apart by singular values. A function F of one axis gets the taps t_j for which
//   sum_j t_j exp(2 pi i (j - middle) x)  is  Phi(x) F(x)
// by least squares over the nodes of Gauss and Legendre, errors counted over Phi, by which pixels are
// divided.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "kernels/epic/corr/depth_axis.h"
#include "kernels/epic/corr/pair_lattice.h"

namespace apsyn {

/// A field: sites, or pixels, about the middle of a grid.
struct DepthField {
  std::size_t n_x = 0, n_y = 0;            ///< sites
  std::size_t n_cell_x = 0, n_cell_y = 0;  ///< of the grid
  double pitch = 0;                        ///< from site to site, a direction cosine
  PairSlope slope;                         ///< as PairLattice
  double n_middle = 0;
  /// n - n_middle at a site; l' falls with x.
  double dn(double l, double m) const;
};

class DepthKernels {
 public:
  static constexpr std::size_t kWidth = DepthAxis::kTaps;
  DepthKernels(const DepthField& field, int n_term);
  int n_term() const { return n_term_; }
  const DepthField& field() const { return field_; }
  const DepthAxis& x() const { return axes_[0]; }
  const DepthAxis& y() const { return axes_[1]; }
  /// Phi at a frequency, in turns from cell to cell.
  double transform_x(double frequency) const { return transform(0, frequency); }
  double transform_y(double frequency) const { return transform(1, frequency); }
  /// RMS over the field and some pairs of antennas at u, v and w (or height) over c, relative to a pair.
  double error(const std::vector<std::array<double, 3>>& uvh_s, double hz) const;

 private:
  double transform(std::size_t axis, double frequency) const;
  void fit(std::size_t axis, double edge);
  void separate();

  DepthField field_;
  int n_term_;
  double edge_[2];
  DepthAxis axes_[2]{};
};

}  // namespace apsyn
