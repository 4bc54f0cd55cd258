// SPDX-License-Identifier: GPL-3.0-or-later
// Intervals of time of which images are made: which rows of a block belong to each, and when it begins and
// ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libcore/base/time.h"
#include "libcore/visibility/imaging.h"

namespace apsyn {

/// Integrations [first, first + n) of those of a source, with rows from begin_mjd_s up to end_mjd_s.
struct TimeInterval {
  std::size_t first = 0, n = 0;
  double begin_mjd_s = 0, end_mjd_s = 0;
};

/// Distinct middles of integrations, rising; those closer than 10 us are one, as rounding makes them of one
/// integration in several windows. Reads all rows of `group`.
std::vector<double> integration_times(ImagingSource& source, const ChannelGroup& group,
                                      std::uint64_t max_bytes);

/// The same of these times, in any order.
std::vector<double> distinct_times(std::vector<double> times_mjd_s);

/// Integrations [0, n_integrations) cut into `n_intervals` runs of as equal a length as can be; their times
/// are not set. UsageError when there are fewer integrations than intervals.
std::vector<TimeInterval> split_integrations(std::size_t n_integrations, std::size_t n_intervals);
/// The same with times: the limits lie half-way between integrations.
std::vector<TimeInterval> split_times(const std::vector<double>& times_mjd_s, std::size_t n_intervals);

/// When an image's data begin and end, and for how long there are any (0 = unknown).
struct ImageTimes {
  UtcTime start, end;
  double exposure_s = 0;
};
/// Those of an interval of a source. `times_mjd_s` as integration_times() gives them.
ImageTimes times_of_interval(const ImagingInfo& info, const TimeInterval& interval,
                             const std::vector<double>& times_mjd_s);

/// The range of times in a block, so that it need not be searched for each interval.
struct BlockTimes {
  double min_mjd_s = 0, max_mjd_s = 0;
  bool sorted = false;

  bool meets(const TimeInterval& interval) const {
    return max_mjd_s >= interval.begin_mjd_s && min_mjd_s < interval.end_mjd_s;
  }
};
BlockTimes times_of_block(const ImagingBlock& block);

/// The rows of a block that lie in the interval, rising; `row` is overwritten.
void find_rows(const ImagingBlock& block, const BlockTimes& times, const TimeInterval& interval,
               std::vector<std::size_t>& row);
/// Copies these rows into `to`, whose memory is used again.
void copy_rows(const ImagingBlock& from, const std::vector<std::size_t>& row, ImagingBlock& to);

}  // namespace apsyn
