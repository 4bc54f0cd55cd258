// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/plan/w_separation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace apsyn {

WSeparation::WSeparation(const IdgPlan& plan) {
  const std::size_t side = plan.settings.subgrid;
  const Taper& window = plan.taper;
  const double middle = (static_cast<double>(side) - 1) / 2;
  taper.resize(side * side);
  n_from_middle.resize(side * side);
  residual.resize(side * side);
  n_of_x.resize(side);
  n_of_y.resize(side);
  // A model fills the image, 1 / padding of the field; beyond it the taper alone holds.
  std::vector<double> window_of(side), weight(side);
  for (std::size_t i = 0; i < side; ++i) {
    const double eta = 2 * (static_cast<double>(i) - middle) / static_cast<double>(side);
    window_of[i] = window(eta);
    weight[i] = std::min(1.0, window_of[i] / window(1 / plan.settings.padding));
  }
  std::vector<double> mean_of_x(side, 0), mean_of_y(side, 0);
  double weight_sum = 0, mean = 0;
  for (double w : weight) weight_sum += w;
  for (std::size_t y = 0; y < side; ++y)
    for (std::size_t x = 0; x < side; ++x) {
      const double l = (static_cast<double>(x) - middle) * plan.coarse_l_rad();
      const double m = (static_cast<double>(y) - middle) * plan.coarse_m_rad();
      const double n = std::sqrt(std::max(0.0, 1 - l * l - m * m)) - plan.n_middle;
      taper[y * side + x] = window_of[y] * window_of[x];
      n_from_middle[y * side + x] = n;
      mean_of_x[x] += weight[y] / weight_sum * n;
      mean_of_y[y] += weight[x] / weight_sum * n;
      mean += weight[y] * weight[x] / (weight_sum * weight_sum) * n;
    }
  double total = 0, squares = 0, fourths = 0;
  for (std::size_t y = 0; y < side; ++y) {
    n_of_x[y] = static_cast<float>(mean_of_x[y] - mean);
    n_of_y[y] = static_cast<float>(mean_of_y[y]);
    for (std::size_t x = 0; x < side; ++x) {
      const double c = n_from_middle[y * side + x] - (mean_of_x[x] - mean) - mean_of_y[y];
      const double power = weight[y] * weight[x] * weight[y] * weight[x];
      residual[y * side + x] = static_cast<float>(c);
      total += power;
      squares += power * c * c;
      fourths += power * c * c * c * c;
    }
  }
  residual_rms = std::sqrt(squares / total);
  residual_square_rms = std::sqrt(fourths / total);
}

// Even spread: the RMS of dw is half_w / sqrt(3), that of dw^2 half_w^2 / sqrt(5).
double WSeparation::error_without(double half_w_lambda) const {
  return 2 * std::numbers::pi * half_w_lambda * residual_rms / std::sqrt(3.0);
}

double WSeparation::error_to_first_order(double half_w_lambda, double product_error) const {
  const double phase = 2 * std::numbers::pi * half_w_lambda;
  return phase * phase / 2 * residual_square_rms / std::sqrt(5.0) +
         error_without(half_w_lambda) * product_error;
}

}  // namespace apsyn
