// SPDX-License-Identifier: GPL-3.0-or-later
// --interval of sets and of files of other formats: integrations by their numbers among the distinct times.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>

#include "libcore/base/error.h"
#include "libcore/formats/ms/measurement_set.h"

namespace apsyn {

struct IntervalTimes {
  double first_mjd_s = 0, last_mjd_s = 0;
};

/// The first and the last of the times that selection.first_interval and n_intervals choose. UsageError where
/// they choose none. `kind`: "set" or "file".
inline IntervalTimes choose_interval(const std::set<double>& times_mjd_s, const MsSelection& selection,
                                     const std::string& path, const char* kind) {
  const auto n_times = static_cast<std::int64_t>(times_mjd_s.size());
  const std::int64_t first = selection.first_interval;
  if (first < 0 || first >= n_times || selection.n_intervals == 0)
    throw UsageError("{}: intervals from {}: the {} has {}", path, first, kind, n_times);
  const std::int64_t n =
      selection.n_intervals < 0 ? n_times - first : std::min(selection.n_intervals, n_times - first);
  return {*std::next(times_mjd_s.begin(), first), *std::next(times_mjd_s.begin(), first + n - 1)};
}

}  // namespace apsyn
