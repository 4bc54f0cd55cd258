// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <charconv>
#include <cmath>

#include "kernels/visibility_summary/visibility_summary.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"

namespace apsyn {
namespace {

constexpr std::size_t kMaxPoints = 1u << 16;  // of a fringe; longer ones are thinned

Fringe fringe_between(const ArrayLayout& layout, std::size_t i, std::size_t j) {
  const Vec3 between = layout.antennas[i].enu_m - layout.antennas[j].enu_m;
  return {static_cast<int>(std::min(i, j)),
          static_cast<int>(std::max(i, j)),
          std::sqrt(dot(between, between)),
          {},
          {}};
}

std::size_t antenna_number(const ArrayLayout& layout, std::string_view text, std::string_view list) {
  for (std::size_t i = 0; i < layout.antennas.size(); ++i)
    if (layout.antennas[i].name == text) return i;
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size() || index >= layout.antennas.size())
    throw UsageError(
        "--baselines {}: no antenna {}: give names or indices below {}, for example 0:5,Tile01:Tile09", list,
        text, layout.antennas.size());
  return index;
}

/// Every second point, in place.
template <class T>
void thin(std::vector<T>& points) {
  for (std::size_t i = 0; 2 * i < points.size(); ++i) points[i] = points[2 * i];
  points.resize((points.size() + 1) / 2);
}

}  // namespace

std::vector<Fringe> spread_baselines(const ArrayLayout& layout, std::size_t n) {
  std::vector<Fringe> all;
  for (std::size_t i = 0; i < layout.antennas.size(); ++i)
    for (std::size_t j = i + 1; j < layout.antennas.size(); ++j)
      if (!layout.antennas[i].flagged && !layout.antennas[j].flagged)
        all.push_back(fringe_between(layout, i, j));
  std::stable_sort(all.begin(), all.end(),
                   [](const Fringe& a, const Fringe& b) { return a.length_m < b.length_m; });
  if (all.size() <= n) return all;
  std::vector<Fringe> spread;
  for (std::size_t k = 0; k < n; ++k) spread.push_back(all[(2 * k + 1) * all.size() / (2 * n)]);
  return spread;
}

std::vector<Fringe> parse_baselines(std::string_view list, const ArrayLayout& layout) {
  std::vector<Fringe> fringes;
  for (std::string_view pair : split(list, ',')) {
    const std::vector<std::string_view> ends = split(pair, ':');
    if (ends.size() != 2)
      throw UsageError("--baselines {}: give pairs of antennas, for example 0:5,Tile01:Tile09", list);
    const std::size_t i = antenna_number(layout, ends[0], list), j = antenna_number(layout, ends[1], list);
    if (i == j) throw UsageError("--baselines {}: {} is one antenna, not two", list, pair);
    fringes.push_back(fringe_between(layout, i, j));
  }
  return fringes;
}

void VisibilitySummariser::add_fringes(const VisibilityRows& rows) {
  VisibilitySummary& s = summary_;
  const auto found = std::find(rows.channel_hz->begin(), rows.channel_hz->end(), s.fringe_hz);
  if (found == rows.channel_hz->end()) return;
  const auto chan = static_cast<std::size_t>(found - rows.channel_hz->begin());
  for (std::size_t row = 0; row < rows.data.extent(0); ++row) {
    const auto place = fringe_of_.find({rows.ant1[row], rows.ant2[row]});
    if (place == fringe_of_.end()) continue;
    const std::size_t i = place->second;
    Fringe& fringe = s.fringes[i];
    if (fringe_rows_[i]++ % fringe_step_[i] != 0) continue;
    fringe.time_s.push_back(rows.time_mjd_s[row] - s.first_time_mjd_s + s.interval_s / 2);
    for (std::size_t p = 0; p < s.products.size(); ++p) {
      const std::complex<float> value = rows.data(row, chan, p);
      fringe.values[p].push_back(rows.weight(row, chan, p) > 0 ? value : std::complex<float>(NAN, NAN));
    }
    if (fringe.time_s.size() < kMaxPoints) continue;
    thin(fringe.time_s);
    for (auto& values : fringe.values) thin(values);
    fringe_step_[i] *= 2;
  }
}

}  // namespace apsyn
