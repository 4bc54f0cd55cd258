// SPDX-License-Identifier: GPL-3.0-or-later
// What trackers of delays share: the array's reference antenna, and segments of 10 s between whose four exact
// nodes directions are cubic: within 2e-16 of the exact direction, (omega h)^4 / 24 with h = 10/3 s.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>

#include "libcore/array/array_layout.h"
#include "libcore/base/time.h"

namespace apsyn {

inline double length(const Vec3& v) {
  return std::sqrt(dot(v, v));
}

/// The antenna that is nearest to the mean position. `layout` has antennas.
std::size_t reference_antenna(const ArrayLayout& layout);

/// A bound on the delays of antennas (relative to the reference antenna, cables included) while directions
/// are at most `largest_step` from the one that the stream was tracked to.
double delay_bound_s(const ArrayLayout& layout, double largest_step);

inline constexpr double kSegment_s = 10;

/// Node 0 .. 3 of segment `index`; t = 0 is `start`.
UtcTime node_time(const UtcTime& start, std::int64_t index, std::size_t node);

/// Consecutive segments, each with values that make(index) gives once.
template <class Values>
class TrackSegments {
 public:
  /// Holds begin_s .. end_s; begin_s never falls.
  template <class Make>
  void cover(double begin_s, double end_s, const Make& make) {
    const std::int64_t first = index_of(begin_s), last = index_of(end_s);
    for (; !values_.empty() && first_ < first; ++first_) values_.pop_front();
    if (values_.empty()) first_ = first;
    while (values_.empty() || first_ + static_cast<std::int64_t>(values_.size()) <= last)
      values_.push_back(make(first_ + static_cast<std::int64_t>(values_.size())));
  }
  /// The values of the segment at t_s, and where in it that is: 0 .. 1, beyond what is covered as well.
  const Values& at(double t_s, double& x) const {
    const std::int64_t last = first_ + static_cast<std::int64_t>(values_.size()) - 1;
    const std::int64_t index = std::clamp(index_of(t_s), first_, last);
    x = t_s / kSegment_s - static_cast<double>(index);
    return values_[static_cast<std::size_t>(index - first_)];
  }

 private:
  static std::int64_t index_of(double t_s) { return static_cast<std::int64_t>(std::floor(t_s / kSegment_s)); }
  std::int64_t first_ = 0;
  std::deque<Values> values_;
};

}  // namespace apsyn
