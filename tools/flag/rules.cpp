// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/flag/rules.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/base/time.h"

namespace apsyn::flag {

std::vector<bool> shadowed_antennas(const ArrayLayout& layout, const Mat3& uvw) {
  const std::size_t n = layout.antennas.size();
  std::vector<bool> shadowed(n, false);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const double reach_m = (layout.antennas[i].dish_diameter_m + layout.antennas[j].dish_diameter_m) / 2;
      if (i == j || !(reach_m > 0)) continue;
      const Vec3 apart = multiply(uvw, layout.antennas[i].enu_m - layout.antennas[j].enu_m);
      if (apart[2] > 0 && std::hypot(apart[0], apart[1]) < reach_m) shadowed[j] = true;
    }
  return shadowed;
}

Rules::Rules(const Options& options, RuleFacts facts) : options_(options), facts_(std::move(facts)) {
  const auto& all = facts_.layout.antennas;
  antennas_.assign(all.size(), false);
  if (!options_.antennas.empty()) {
    ArrayLayout marked = facts_.layout;
    for (Antenna& antenna : marked.antennas) antenna.flagged = false;
    try {
      flag_antennas(marked, options_.antennas);
    } catch (const UsageError& error) {
      throw UsageError("--antennas {}: {}", options_.antennas, error.what());
    }
    for (std::size_t i = 0; i < all.size(); ++i) antennas_[i] = marked.antennas[i].flagged;
  }
  const bool by_elevation = options_.elevation_rad > -10;
  if (!by_elevation && !options_.shadow) return;
  if (!facts_.layout.site)
    throw UsageError("{}: its site is not known", by_elevation ? "--elevation" : "--shadow");
  if (options_.shadow &&
      std::none_of(all.begin(), all.end(), [](const Antenna& a) { return a.dish_diameter_m > 0; }))
    throw UsageError("--shadow: no antenna has a diameter (DISH_DIAMETER): there are no dishes");
  frame_ = std::make_unique<SkyFrame>(*facts_.layout.site);
}

Rules::Instant Rules::look(double time_mjd_s, const SkyDirection& direction) const {
  const UtcTime time = from_mjd_seconds(time_mjd_s);
  Instant instant;
  if (options_.elevation_rad > -10)
    instant.low = frame_->enu_from_direction(time, direction)[2] < std::sin(options_.elevation_rad);
  if (options_.shadow)
    instant.shadowed = shadowed_antennas(facts_.layout, frame_->uvw_rotation(time, direction));
  return instant;
}

void Rules::prepare(const MsRows& rows) {
  if (!frame_) return;
  constexpr std::size_t kMaxInstants = 20000;
  if (instants_.size() > kMaxInstants) instants_.clear();
  of_row_.resize(rows.ant1.size());
  for (std::size_t row = 0; row < rows.ant1.size(); ++row) {
    const std::pair<double, int> key{rows.time_mjd_s[row], rows.field[row]};
    auto at = instants_.find(key);
    if (at == instants_.end())
      at =
          instants_
              .emplace(key, look(key.first, facts_.fields[static_cast<std::size_t>(key.second)].phase_centre))
              .first;
    of_row_[row] = &at->second;
  }
}

bool Rules::is_bad(const MsRows& rows, std::size_t row) const {
  const auto i = static_cast<std::size_t>(rows.ant1[row]), j = static_cast<std::size_t>(rows.ant2[row]);
  if (antennas_[i] || antennas_[j] || (options_.autos && i == j)) return true;
  if (options_.quack_s > 0) {
    const auto begin = facts_.scan_begin_mjd_s.find(rows.scan[row]);
    if (begin != facts_.scan_begin_mjd_s.end() && rows.time_mjd_s[row] < begin->second + options_.quack_s)
      return true;
  }
  if (!frame_) return false;
  const Instant& instant = *of_row_[row];
  return instant.low || (!instant.shadowed.empty() && (instant.shadowed[i] || instant.shadowed[j]));
}

void Rules::flag(const MsRows& rows, std::size_t row, const std::complex<float>* data, std::size_t n_chan,
                 std::size_t n_product, std::uint8_t* flags) const {
  const std::size_t n = n_chan * n_product;
  if (is_bad(rows, row)) {
    std::fill_n(flags, n, std::uint8_t{1});
    return;
  }
  const std::size_t edge = std::min(options_.edges, n_chan) * n_product;
  std::fill_n(flags, edge, std::uint8_t{1});
  std::fill_n(flags + (n - edge), edge, std::uint8_t{1});
  if (!options_.non_finite || data == nullptr) return;
  for (std::size_t i = 0; i < n; ++i)
    if (!std::isfinite(data[i].real()) || !std::isfinite(data[i].imag())) flags[i] = 1;
}

}  // namespace apsyn::flag
