// SPDX-License-Identifier: GPL-3.0-or-later
// How well n - n_middle over the coarse pixels of a subgrid is a function of x and a function of y:
//
//   n(y, x) - n_middle = g(x) + h(y) + c(y, x),
//
// which decides whether the w phase of a task may be taken separably.
#pragma once

#include <vector>

#include "kernels/idg/idg.h"

namespace apsyn {

struct WSeparation {
  explicit WSeparation(const IdgPlan& plan);
  std::vector<double> taper;                         ///< [y][x]
  std::vector<double> n_from_middle;                 ///< [y][x] n - n_middle
  std::vector<float> n_of_x, n_of_y;                 ///< g, h
  std::vector<float> residual;                       ///< [y][x] c
  double residual_rms = 0, residual_square_rms = 0;  ///< of c and of c^2, pixels as a model image weighs them

  /// Relative RMS error for visibilities spread over |w - w_task| <= half_w_lambda when c is left out, or
  /// taken to first order with `product_error` relative RMS error.
  double error_without(double half_w_lambda) const;
  double error_to_first_order(double half_w_lambda, double product_error) const;
};

}  // namespace apsyn
