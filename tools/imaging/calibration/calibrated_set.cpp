// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/calibration/calibrated_set.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "libcore/base/error.h"
#include "tools/imaging/calibration/calibrated_source.h"

namespace apsyn::calibrate {
namespace {

/// UsageError for products of which no pair of hands can be made.
void check_products(const std::vector<Product>& products, const std::string& path) {
  const std::vector<ProductHands> hands = hands_of(products, path);
  const auto n_parallel =
      static_cast<std::size_t>(std::count_if(hands.begin(), hands.end(), is_parallel_hand));
  if (n_parallel == 2 ? products.size() == 2 || products.size() == 4 : n_parallel == products.size()) return;
  throw UsageError(
      "{}: {}: has {} products, {} of them parallel hands: select both parallel hands, or all four",
      kCalibrateOption, path, products.size(), n_parallel);
}

CalibratedSet read_one(const std::string& path, const ImagingOptions& options) {
  MsSelection selection;
  selection.column = options.column;
  selection.fields = options.fields;
  selection.field_names = options.field_names;
  selection.spws = options.spws;
  selection.first_interval = options.first_interval;
  selection.n_intervals = options.n_intervals;
  selection.first_channel = options.first_channel;
  selection.n_channels = options.n_channels;
  const MeasurementSetReader reader(path, selection);
  CalibratedSet set;
  set.path = path;
  set.products = reader.products();
  check_products(set.products, path);
  set.antennas = solution_antennas(reader.layout());
  set.integrations = reader.integrations();
  set.windows = reader.spectral_windows();
  if (!reader.fields_with_rows().empty())
    set.field_centre = reader.fields()[static_cast<std::size_t>(reader.fields_with_rows()[0])].phase_centre;
  return set;
}

/// The time that a set covers.
std::pair<double, double> span_of(const CalibratedSet& set) {
  double begin_s = std::numeric_limits<double>::infinity(), end_s = -begin_s;
  for (const MsIntegration& integration : set.integrations) {
    begin_s = std::min(begin_s, integration.time_mjd_s - integration.interval_s / 2);
    end_s = std::max(end_s, integration.time_mjd_s + integration.interval_s / 2);
  }
  return {begin_s, end_s};
}

bool overlap(const CalibratedSet& a, const CalibratedSet& b) {
  const auto [begin_a, end_a] = span_of(a);
  const auto [begin_b, end_b] = span_of(b);
  constexpr double kTouch_s = 1e-3;  // where one ends the other may begin
  return begin_a < end_b - kTouch_s && begin_b < end_a - kTouch_s;
}

/// One name at two places at the same time is of two antennas, whose gains differ.
void check_places(const CalibratedSet& a, const CalibratedSet& b) {
  if (!overlap(a, b)) return;
  constexpr double kNear_m = 1;
  for (const SolutionAntenna& own : a.antennas)
    for (const SolutionAntenna& other : b.antennas) {
      if (own.name != other.name) continue;
      const double apart_m =
          std::hypot(own.position_m[0] - other.position_m[0], own.position_m[1] - other.position_m[1],
                     own.position_m[2] - other.position_m[2]);
      if (apart_m > kNear_m)
        throw UsageError(
            "{}: antenna {} of {} lies {:.3g} m from that of {}, which observed at the same time: gains are "
            "by "
            "name: clean each set",
            kCalibrateOption, own.name, a.path, apart_m, b.path);
    }
}

}  // namespace

std::size_t CalibratedSet::max_channels() const {
  std::size_t max = 0;
  for (const MsSpectralWindow& window : windows) max = std::max(max, window.channel_hz.size());
  return max;
}

CalibratedSet read_calibrated_set(const std::vector<std::string>& paths, const ImagingOptions& selection) {
  std::vector<CalibratedSet> sets;
  for (const std::string& path : paths) sets.push_back(read_one(path, selection));
  CalibratedSet joined = join_calibrated_sets(sets);
  if (joined.integrations.empty() || joined.windows.empty())
    throw FailureError("{}: no usable data: no row is selected", joined.path);
  return joined;
}

CalibratedSet join_calibrated_sets(std::span<const CalibratedSet> sets) {
  if (sets.size() == 1) return sets[0];
  CalibratedSet joined;
  joined.path = sets[0].path;
  joined.products = sets[0].products;
  joined.integrations = join_integrations(sets);
  std::map<std::string, std::uint32_t> number;
  for (const CalibratedSet& set : sets) {
    if (set.products != joined.products)
      throw UsageError("{}: {} has other products than {}: clean each, or give both the same with transform",
                       kCalibrateOption, set.path, joined.path);
    for (const CalibratedSet& other : sets.first(static_cast<std::size_t>(&set - sets.data())))
      check_places(other, set);
    for (const SolutionAntenna& antenna : set.antennas) {
      const auto [at, is_new] =
          number.try_emplace(antenna.name, static_cast<std::uint32_t>(joined.antennas.size()));
      if (is_new) joined.antennas.push_back(antenna);
      joined.antenna_of_station.push_back(at->second);
    }
    for (const MsSpectralWindow& window : set.windows)
      if (std::none_of(joined.windows.begin(), joined.windows.end(), [&](const MsSpectralWindow& own) {
            return own.channel_hz == window.channel_hz && own.width_hz == window.width_hz;
          }))
        joined.windows.push_back(window);
    if (!joined.field_centre) joined.field_centre = set.field_centre;
  }
  return joined;
}

std::vector<MsIntegration> join_integrations(std::span<const CalibratedSet> sets) {
  struct Own {
    MsIntegration integration;
    std::size_t set;
  };
  std::vector<Own> all;
  std::vector<double> end_s;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    for (const MsIntegration& integration : sets[i].integrations) all.push_back({integration, i});
    end_s.push_back(span_of(sets[i]).second);
  }
  std::stable_sort(all.begin(), all.end(), [](const Own& a, const Own& b) {
    return a.integration.time_mjd_s < b.integration.time_mjd_s;
  });
  std::vector<MsIntegration> joined;
  std::vector<std::optional<int>> last_scan(sets.size());  // of each set so far
  int scan = 0, scan_before = 0;  // of the result: of its last integration, and of the one before
  int former_scan = 0;            // of the set that came last
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [own, set] = all[i];
    const double begin_s = own.time_mjd_s - own.interval_s / 2;
    bool changes = last_scan[set] && *last_scan[set] != own.scan;
    if (!last_scan[set] && i > 0) {
      bool alone = true;
      for (std::size_t other = 0; other < sets.size(); ++other)
        alone = alone && (other == set || !last_scan[other] || end_s[other] <= begin_s + own.interval_s / 2);
      changes = alone && own.scan != former_scan;
    }
    last_scan[set] = former_scan = own.scan;
    // Rows are looked for by the first integration that is not before them: the later time stays.
    constexpr double kSame = 0.01;
    if (!joined.empty() && own.time_mjd_s - joined.back().time_mjd_s <= kSame * own.interval_s) {
      MsIntegration& same = joined.back();
      same.time_mjd_s = own.time_mjd_s;
      same.interval_s = std::max(same.interval_s, own.interval_s);
      same.n_rows += own.n_rows;
      if (changes && same.scan == scan_before) same.scan = ++scan;
      continue;
    }
    scan_before = scan;
    scan += changes ? 1 : 0;
    joined.push_back(own);
    joined.back().scan = scan;
  }
  return joined;
}

}  // namespace apsyn::calibrate
