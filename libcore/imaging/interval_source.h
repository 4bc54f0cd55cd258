// SPDX-License-Identifier: GPL-3.0-or-later
// An imaging source of which one interval of time after the other can be chosen, for images of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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

/// Integrations [0, n_integrations) cut into `n_intervals` runs of as equal a length as can be; their times
/// are not set. UsageError when there are fewer integrations than intervals.
std::vector<TimeInterval> split_integrations(std::size_t n_integrations, std::size_t n_intervals);
/// The same with times: the limits lie half-way between integrations.
std::vector<TimeInterval> split_times(const std::vector<double>& times_mjd_s, std::size_t n_intervals);

/// All rows of `source`, which must outlive this, or those of the interval that was chosen last.
class IntervalSource final : public ImagingSource {
 public:
  explicit IntervalSource(ImagingSource& source) : source_(source), info_(source.info()) {}
  /// From the next rewind() on: rows of this interval alone, of which info() tells the times. `times_mjd_s`
  /// as integration_times() gives them.
  void choose(const TimeInterval& interval, const std::vector<double>& times_mjd_s);
  /// From the next rewind() on: all rows.
  void choose_all();

  const ImagingInfo& info() const override { return info_; }
  void rewind(const ChannelGroup& group) override;
  bool read(ImagingBlock& block, std::uint64_t max_bytes) override;
  const ImagingBlock* next(std::uint64_t max_bytes) override;
  std::uint64_t bytes() const override { return source_.bytes(); }
  void keep_none() override { source_.keep_none(); }

 private:
  /// The range of times in a block, so that it need not be searched for each interval.
  struct BlockTimes {
    double min_mjd_s = 0, max_mjd_s = 0;
    bool sorted = false;
  };
  const BlockTimes& times_of(const ImagingBlock& block);
  /// The rows of the interval, rising.
  void find_rows(const ImagingBlock& block, const BlockTimes& times);

  ImagingSource& source_;
  ImagingInfo info_;
  bool chosen_ = false;
  TimeInterval interval_;
  ChannelGroup group_;
  std::uint64_t max_bytes_ = 0;
  std::vector<BlockTimes> seen_;  ///< [block since rewind()], of the same group and max_bytes_
  std::size_t n_lent_ = 0;        ///< blocks of the source since rewind()
  ImagingBlock rows_;             ///< of a block that has others, too
  std::vector<std::size_t> row_;  ///< their indices in it
};

}  // namespace apsyn
