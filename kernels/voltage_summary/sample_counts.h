// SPDX-License-Identifier: GPL-3.0-or-later
// How many samples of each input stand at the extremes of their format, are missing, or are not finite.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "libcore/voltage/voltage.h"

namespace apsyn {

struct SampleCounts {
  std::int64_t n_time = 0;               ///< samples seen of each input and channel
  std::size_t n_chan = 1, n_pol = 1;     ///< of the stream
  std::vector<std::int64_t> saturated;   ///< [ant * n_pol + pol], over all channels: re or im at an extreme
  std::vector<std::int64_t> missing;     ///< [ant], time samples, each in all channels
  std::vector<std::int64_t> not_finite;  ///< [ant], over all channels

  double saturated_share(std::size_t input) const;  ///< of the samples that are not missing
  double missing_share(std::size_t ant) const;
};

class SampleCounter {
 public:
  /// Counts samples [first, end) of the stream alone, on so many threads.
  explicit SampleCounter(const VoltageHeader& header, std::int64_t first = 0,
                         std::int64_t end = std::numeric_limits<std::int64_t>::max(), unsigned n_threads = 1);
  void add(const VoltageBlock& block);
  /// The two parts of add(). Extremes, of n_time samples of the block from `first` on, may be counted by
  /// several threads at once, each with a number of its own below n_threads, before the rest of the block is
  /// known (VoltageReader::watch); what is missing is counted by one.
  void add_extremes(const VoltageBlock& block, std::size_t first, std::size_t n_time, unsigned thread);
  void add_missing(const VoltageBlock& block);
  /// What has been counted of all that was added. Nobody may be adding meanwhile.
  SampleCounts counts() const;

 private:
  /// The samples to be counted, first and number, of the block's samples [first, first + n_time).
  std::pair<std::size_t, std::size_t> wanted(const VoltageBlock& block, std::size_t first,
                                             std::size_t n_time) const;

  SampleCounts counts_;  // without the extremes
  std::int64_t first_, end_;
  std::size_t n_input_;
  unsigned n_threads_;
  Buffer<std::int64_t, 2> saturated_;  // [thread][input], in rows that caches do not share
  int low_ = 0, high_ = 0;             // extremes; 0 and 0: floats have none
};

/// The share of samples at the extremes above which levels are too high: 10 % with 4 bits, whose optimum has
/// 3.8 %, 3 % with 5, 1 % with more.
double usual_saturated_share(unsigned n_bit);

/// counts[pair] += rows in which either byte of the pair is <= low or >= high; samples [row][pair][2].
void count_extremes(const std::int8_t* samples, std::size_t n_rows, std::size_t n_pairs, int low, int high,
                    std::int64_t* counts);
/// The same of packed samples [row][pair] of 4 bits, two's complement, whose extremes are -8 and 7.
void count_extremes_4bit(const std::uint8_t* samples, std::size_t n_rows, std::size_t n_pairs,
                         std::int64_t* counts);

}  // namespace apsyn
