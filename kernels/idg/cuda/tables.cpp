// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cuda/tables.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/idg/plan/taper.h"
#include "kernels/idg/plan/w_terms.h"

namespace apsyn::idg_cuda {

std::vector<double> taper_table(const IdgPlan& plan) {
  const std::size_t side = plan.settings.subgrid, half = side / 2;
  const Taper& window = plan.taper;
  std::vector<double> line, table;
  for (std::size_t i = 0; i < half; ++i)
    line.push_back(window(2 * (static_cast<double>(i) + 0.5) / static_cast<double>(side)));
  for (double y : line)
    for (double x : line) table.push_back(y * x);
  return table;
}

std::vector<double> n_table(const IdgPlan& plan, std::size_t half) {
  std::vector<double> table(half * half, 0.0);
  for (std::size_t y = 0; y < plan.settings.subgrid / 2; ++y)
    for (std::size_t x = 0; x < plan.settings.subgrid / 2; ++x) {
      const double l = (static_cast<double>(x) + 0.5) * plan.coarse_l_rad();
      const double m = (static_cast<double>(y) + 0.5) * plan.coarse_m_rad();
      table[y * half + x] = std::sqrt(std::max(0.0, 1 - l * l - m * m)) - plan.n_middle;
    }
  return table;
}

std::vector<double> chebyshev_table(const IdgPlan& plan, double half_w_lambda, std::size_t n_terms) {
  const std::vector<double> taper = taper_table(plan), n = n_table(plan, plan.settings.subgrid / 2);
  std::vector<double> table;
  for (std::size_t r = 0; r < n_terms; ++r)
    for (std::size_t i = 0; i < taper.size(); ++i)
      table.push_back((r == 0 ? 1 : 2) * taper[i] * bessel_j(r, 2 * std::numbers::pi * half_w_lambda * n[i]));
  return table;
}

std::vector<float4> tensor_table(const IdgPlan& plan, double w_unit_lambda) {
  std::vector<float4> table;
  for (double n :
       n_table(plan, static_cast<std::size_t>(tensor_half(static_cast<int>(plan.settings.subgrid))))) {
    const double z = 2 * std::numbers::pi * w_unit_lambda * n;
    table.push_back({static_cast<float>(2 * bessel_j(1, z)), static_cast<float>(2 * bessel_j(2, z)),
                     static_cast<float>(2 * bessel_j(3, z)), static_cast<float>(n)});
  }
  return table;
}

std::vector<std::complex<double>> uv_phases(const IdgPlan& plan) {
  const auto side = static_cast<double>(plan.settings.subgrid);
  std::vector<std::complex<double>> phases;
  for (std::size_t k = 0; k < plan.settings.subgrid; ++k) {
    const double cell = static_cast<double>(k) - std::floor(side / 2);
    phases.push_back(std::polar(1 / side, -std::numbers::pi * cell * (side - 1) / side));
  }
  return phases;
}

}  // namespace apsyn::idg_cuda
