// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/plane_set.h"

#include <algorithm>

#include "libcore/system/parallel.h"

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

std::span<const float> searched_row(const PlaneSet& set, std::size_t y, std::vector<float>& values) {
  if (set.single()) return {&set.residual[0](y, 0), set.nx()};
  values.resize(set.nx());
  search_row(set, y, values);
  return values;
}

namespace {

/// The height of every row's highest pixel.
std::vector<float> highest_of_rows(const PlaneSet& set, unsigned n_threads) {
  std::vector<float> rows(set.ny());
  for_each_row(set, n_threads, [&](std::size_t y, std::span<const float> values) {
    rows[y] = highest_value(values, &set.search_weight(y, 0), set.sign);
  });
  return rows;
}

}  // namespace

float highest_pixel(const PlaneSet& set, unsigned n_threads) {
  const std::vector<float> rows = highest_of_rows(set, n_threads);
  return *std::max_element(rows.begin(), rows.end());
}

SetPeak find_set_peak(const PlaneSet& set, unsigned n_threads) {
  const std::vector<float> rows = highest_of_rows(set, n_threads);
  const auto best = std::max_element(rows.begin(), rows.end());
  SetPeak peak;
  if (*best == 0) return peak;
  const auto y = static_cast<std::size_t>(best - rows.begin());
  std::vector<float> values;
  peak = {first_at(searched_row(set, y, values), &set.search_weight(y, 0), set.sign, *best), y, *best, 0, {}};
  for (const View<float, 2>& plane : set.residual) peak.residual.push_back(plane(peak.y, peak.x));
  peak.value = search_value(set, peak.residual);
  return peak;
}

}  // namespace apsyn
