// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/plane_set.h"

#include <algorithm>

#include "libcore/core/parallel.h"

namespace apsyn {

float search_value(const PlaneSet& set, const std::vector<float>& values) {
  std::vector<const float*> planes;
  for (const float& value : values) planes.push_back(&value);
  float result = 0;
  search_values({&result, 1}, planes, set.weight, set.n_pol);
  return result;
}

void search_row(const PlaneSet& set, std::size_t y, std::span<float> values) {
  std::vector<const float*> planes(set.n_plane());
  for (std::size_t plane = 0; plane < planes.size(); ++plane) planes[plane] = &set.residual[plane](y, 0);
  search_values(values, planes, set.weight, set.n_pol);
}

SetPeak find_set_peak(const PlaneSet& set, unsigned n_threads) {
  struct RowPeak {
    float height = 0;
    std::size_t x = 0;
  };
  std::vector<RowPeak> rows(set.ny());
  parallel_for(n_threads, set.ny(), [&](std::size_t y, unsigned) {
    std::vector<float> values(set.nx());
    search_row(set, y, values);
    const float* weight = &set.search_weight(y, 0);
    rows[y].height = highest_value(values, weight, set.sign);
    if (rows[y].height > 0) rows[y].x = first_at(values, weight, set.sign, rows[y].height);
  });
  const auto best = std::max_element(rows.begin(), rows.end(),
                                     [](const RowPeak& a, const RowPeak& b) { return a.height < b.height; });
  SetPeak peak;
  if (best->height == 0) return peak;
  peak = {best->x, static_cast<std::size_t>(best - rows.begin()), best->height, 0, {}};
  for (const View<float, 2>& plane : set.residual) peak.residual.push_back(plane(peak.y, peak.x));
  peak.value = search_value(set, peak.residual);
  return peak;
}

}  // namespace apsyn
