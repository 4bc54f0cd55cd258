// SPDX-License-Identifier: GPL-3.0-or-later
// The cleaned samples that are still needed, at every time resolution of the search.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/dedisperse/dedisperse.h"

namespace apsyn {

class SampleHistory {
 public:
  /// Holds `capacity` input samples, a multiple of every level's factor.
  SampleHistory(const DedispersionPlan& plan, std::size_t capacity, unsigned n_threads);
  /// Appends n_time samples, rows [chan * stride + time]; all but the last call a multiple of every factor.
  void append(const std::int8_t* samples, std::size_t stride, std::size_t n_time);
  /// Nothing was observed: zeros, which count with weight 0. No append() may follow.
  void append_missing(std::size_t n_time);
  /// Forgets what lies before an input sample, a multiple of every factor.
  void release(std::int64_t sample);
  std::int64_t begin() const { return begin_; }  ///< input samples held: [begin, end)
  std::int64_t end() const { return end_; }
  /// Rows of a level that start at input sample `from`.
  SampleRows rows(std::size_t level, std::int64_t from) const;

 private:
  void allocate_block(std::size_t n_time);

  const DedispersionPlan& plan_;
  std::size_t capacity_;
  unsigned n_threads_;
  std::int64_t origin_ = 0;  ///< input sample of the rows' first value
  std::int64_t begin_ = 0, end_ = 0;
  std::vector<Buffer<std::int8_t, 2>> rows_;  ///< of each level, [chan][time]
};

}  // namespace apsyn
