// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/imaging/intervals.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/base/time.h"

namespace apsyn {
namespace {

constexpr double kSameTime_s = 1e-5;

/// Rows `row` of `from`, the slowest axis, into `to`, whose memory is used again.
template <class T, std::size_t Rank>
void take_rows(const Buffer<T, Rank>& from, const std::vector<std::size_t>& row, Buffer<T, Rank>& to) {
  auto shape = from.shape();
  if (shape[0] == 0) return to.resize_for_overwrite(shape);  // a block need not have paths
  const std::size_t stride = from.size() / shape[0];
  shape[0] = row.size();
  to.resize_for_overwrite(shape);
  // Rows that follow each other are copied at once: in a set that is sorted by time these are all.
  for (std::size_t i = 0; i < row.size();) {
    std::size_t n = 1;
    while (i + n < row.size() && row[i + n] == row[i] + n) ++n;
    std::copy_n(from.data() + row[i] * stride, n * stride, to.data() + i * stride);
    i += n;
  }
}

}  // namespace

std::vector<double> distinct_times(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end(), [](double a, double b) { return b - a < kSameTime_s; }),
              times.end());
  return times;
}

std::vector<double> integration_times(ImagingSource& source, const ChannelGroup& group,
                                      std::uint64_t max_bytes) {
  std::vector<double> times;
  source.rewind(group);
  while (const ImagingBlock* block = source.next(max_bytes)) {
    double last = std::numeric_limits<double>::quiet_NaN();
    for (const double time : block->time_mjd_s)
      if (time != last && std::isfinite(time)) times.push_back(last = time);
    times = distinct_times(std::move(times));
  }
  return times;
}

std::vector<TimeInterval> split_integrations(std::size_t n_integrations, std::size_t n_intervals) {
  const std::size_t n = n_integrations;
  if (n_intervals < 1 || n_intervals > n)
    throw UsageError("--intervals-out {}: the data have {} integration{}: give that many or fewer",
                     n_intervals, n, n == 1 ? "" : "s");
  std::vector<TimeInterval> intervals(n_intervals);
  for (std::size_t k = 0; k < n_intervals; ++k) {
    intervals[k].first = k * n / n_intervals;
    intervals[k].n = (k + 1) * n / n_intervals - intervals[k].first;
  }
  return intervals;
}

std::vector<TimeInterval> split_times(const std::vector<double>& times_mjd_s, std::size_t n_intervals) {
  constexpr double kForever = std::numeric_limits<double>::infinity();
  const auto border = [&](std::size_t i) {
    return i == 0                    ? -kForever
           : i == times_mjd_s.size() ? kForever
                                     : (times_mjd_s[i - 1] + times_mjd_s[i]) / 2;
  };
  std::vector<TimeInterval> intervals = split_integrations(times_mjd_s.size(), n_intervals);
  for (TimeInterval& interval : intervals) {
    interval.begin_mjd_s = border(interval.first);
    interval.end_mjd_s = border(interval.first + interval.n);
  }
  return intervals;
}

ImageTimes times_of_interval(const ImagingInfo& info, const TimeInterval& interval,
                             const std::vector<double>& times_mjd_s) {
  // The first integration of all begins at `start`, half of its length before its middle.
  const double half_s = std::max(0.0, times_mjd_s[0] - info.start.mjd_seconds());
  const double first_s = times_mjd_s[interval.first], last_s = times_mjd_s[interval.first + interval.n - 1];
  ImageTimes times{from_mjd_seconds(first_s - half_s), from_mjd_seconds(last_s + half_s), info.exposure_s};
  if (times.exposure_s > 0)
    times.exposure_s = std::min(times.exposure_s, 2 * half_s * static_cast<double>(interval.n));
  return times;
}

BlockTimes times_of_block(const ImagingBlock& block) {
  constexpr double kForever = std::numeric_limits<double>::infinity();
  BlockTimes result{kForever, -kForever, true};
  double last = -kForever;
  for (const double time : block.time_mjd_s) {
    result.sorted = result.sorted && time >= last;  // not a number is not in order either
    last = time;
    result.min_mjd_s = std::fmin(result.min_mjd_s, time);
    result.max_mjd_s = std::fmax(result.max_mjd_s, time);
  }
  return result;
}

void find_rows(const ImagingBlock& block, const BlockTimes& times, const TimeInterval& interval,
               std::vector<std::size_t>& row) {
  row.clear();
  if (!times.meets(interval)) return;
  auto begin = block.time_mjd_s.begin(), end = block.time_mjd_s.end();
  if (times.sorted) {
    begin = std::lower_bound(begin, end, interval.begin_mjd_s);
    end = std::lower_bound(begin, end, interval.end_mjd_s);
  }
  for (auto time = begin; time != end; ++time)
    if (*time >= interval.begin_mjd_s && *time < interval.end_mjd_s)
      row.push_back(static_cast<std::size_t>(time - block.time_mjd_s.begin()));
}

void copy_rows(const ImagingBlock& from, const std::vector<std::size_t>& row, ImagingBlock& to) {
  take_rows(from.uvw_m, row, to.uvw_m);
  take_rows(from.path_m, row, to.path_m);
  take_rows(from.data, row, to.data);
  take_rows(from.weight, row, to.weight);
  take_rows(from.station, row, to.station);
  to.channel_hz.resize_for_overwrite(from.channel_hz.shape());
  std::copy(from.channel_hz.begin(), from.channel_hz.end(), to.channel_hz.begin());
  to.time_mjd_s.resize(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) to.time_mjd_s[i] = from.time_mjd_s[row[i]];
}

}  // namespace apsyn
