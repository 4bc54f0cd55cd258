// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/briggs_weights.h"

#include <cmath>

namespace apsyn::reference {
namespace {

using Cell = std::pair<long, long>;

long padded_side(std::size_t n) {
  long side = static_cast<long>(std::ceil(1.2 * static_cast<double>(n)));
  while (side % 4 != 0) ++side;
  return side;
}

}  // namespace

std::vector<double> imaging_weights(const std::vector<WeighedVisibility>& visibilities,
                                    const WeightRecipe& recipe, std::size_t n_x, std::size_t n_y,
                                    double cell_rad) {
  const long width = padded_side(n_x), height = padded_side(n_y);
  auto cell_of = [&](const WeighedVisibility& vis) {
    const double sign = vis.v < 0 ? -1 : 1;
    return Cell{
        static_cast<long>(std::floor(sign * vis.u * static_cast<double>(width) * cell_rad)) + width / 2,
        static_cast<long>(std::floor(sign * vis.v * static_cast<double>(height) * cell_rad))};
  };
  auto inside = [&](const Cell& c) {
    return c.first >= 0 && c.first < width && c.second >= 0 && c.second < height / 2;
  };
  std::map<Cell, double> sums;
  double total = 0, squares = 0;
  for (const auto& vis : visibilities)
    if (inside(cell_of(vis))) {
      sums[cell_of(vis)] += vis.weight;
      total += vis.weight;
    }
  for (const auto& [cell, sum] : sums) squares += sum * sum;
  const double s2 = std::pow(5 * std::pow(10, -recipe.robustness), 2) * total / squares;

  auto plain = [&](const Cell& c) {
    const auto found = sums.find(c);
    const double sum = found == sums.end() ? 0 : found->second;
    if (recipe.mode == 'b') return 1 / (1 + s2 * sum);
    if (sum == 0) return 0.0;
    return recipe.mode == 'u' ? 1 / sum : 1.0;
  };
  std::vector<double> factors;
  const double pi = std::acos(-1.0);
  for (const auto& vis : visibilities) {
    const Cell c = cell_of(vis);
    if (!inside(c)) {
      factors.push_back(0);
      continue;
    }
    double factor = plain(c);
    if (recipe.rank_level > 0 && factor != 0) {
      const long half = static_cast<long>(recipe.rank_box / 2);
      double sum = 0, count = 0;
      for (long y = c.second - half; y < c.second + half; ++y)
        for (long x = c.first - half; x < c.first + half; ++x)
          if (inside({x, y}) && plain({x, y}) != 0) {
            sum += plain({x, y});
            count += 1;
          }
      if (factor > recipe.rank_level * sum / count) factor = recipe.rank_level * sum / count;
    }
    const double u = static_cast<double>(c.first - width / 2) / (static_cast<double>(width) * cell_rad);
    const double v = static_cast<double>(c.second) / (static_cast<double>(height) * cell_rad);
    if (recipe.taper_fwhm_rad > 0) {
      // A Gaussian beam of this FWHM has the transform exp(-2 pi^2 sigma_beam^2 (u^2 + v^2)).
      const double sigma_beam = recipe.taper_fwhm_rad / std::sqrt(8 * std::log(2.0));
      factor *= std::exp(-2 * pi * pi * sigma_beam * sigma_beam * (u * u + v * v));
    }
    const double distance = std::sqrt(u * u + v * v);
    if (recipe.inner_tukey > 0 && distance > recipe.min_uv && distance < recipe.min_uv + recipe.inner_tukey)
      factor *= std::pow(std::sin(pi / 2 * (distance - recipe.min_uv) / recipe.inner_tukey), 2);
    if (recipe.outer_tukey > 0 && distance < recipe.max_uv && distance > recipe.max_uv - recipe.outer_tukey)
      factor *= std::pow(std::sin(pi / 2 * (recipe.max_uv - distance) / recipe.outer_tukey), 2);
    factors.push_back(distance < recipe.min_uv || distance > recipe.max_uv ? 0 : factor);
  }
  return factors;
}

}  // namespace apsyn::reference
