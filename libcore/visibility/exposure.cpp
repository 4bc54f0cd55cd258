// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/visibility/exposure.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace apsyn {

void add_exposure(Exposures& exposures, double middle_mjd_s, double length_s) {
  double& longest = exposures.try_emplace(middle_mjd_s, 0).first->second;
  if (std::isfinite(length_s)) longest = std::max(longest, length_s);
}

double covered_s(const Exposures& exposures) {
  struct Interval {
    double begin_s, end_s, length_s;
  };
  std::vector<Interval> intervals;
  for (const auto& [middle_s, length_s] : exposures)
    intervals.push_back({middle_s - length_s / 2, middle_s + length_s / 2, length_s});
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin_s < b.begin_s; });
  double sum_s = 0, reached_s = -std::numeric_limits<double>::infinity();
  for (const Interval& interval : intervals) {
    // Two ends that meet are each rounded to the resolution of MJD seconds, about a microsecond: so little is
    // no overlap, and the lengths of integrations that adjoin add up exactly.
    const double resolution_s = interval.end_s * std::numeric_limits<double>::epsilon();
    const double overlap_s = std::min(reached_s - interval.begin_s, interval.length_s);
    sum_s += overlap_s > 2 * resolution_s ? interval.length_s - overlap_s : interval.length_s;
    reached_s = std::max(reached_s, interval.end_s);
  }
  return sum_s;
}

}  // namespace apsyn
