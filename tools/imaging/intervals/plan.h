// SPDX-License-Identifier: GPL-3.0-or-later
// How the images of many intervals of time are made in as few readings of the data as memory allows.
//
// Blocks are read in their order, and the rows of each are added to the images of their intervals. Those of
// an interval are open from the first block that has rows of it to the last: in data sorted by time few are
// open at once, in sets that follow each other all of them may be. Short intervals are gridded at the same
// time, by one thread each, so that threads need not wait for each other within an interval.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libcore/imaging/intervals.h"

namespace apsyn::imaging {

struct Imager;
struct PreparedGroup;

/// The blocks that may have rows of an interval: first > last where none has.
struct BlockRange {
  std::size_t first = 1, last = 0;
};
/// Of each interval.
std::vector<BlockRange> block_ranges(std::span<const TimeInterval> intervals,
                                     std::span<const BlockTimes> blocks);

/// Upper limit on the number of intervals that are open at the same time while `n_workers` threads take those
/// of each block in their order; exact for one.
std::size_t max_open(std::span<const BlockRange> intervals, unsigned n_workers);

struct IntervalPlan {
  std::size_t n_open = 0;       ///< intervals that have gridders at the same time, at most; 0 = not planned
  unsigned n_workers = 1;       ///< intervals that are gridded at the same time
  std::size_t batch = 0;        ///< intervals that share a reading of the data
  bool keeps_gridders = false;  ///< for the next interval, while images are written
  std::uint64_t bytes = 0;      ///< memory of gridders and images

  /// Threads of each gridder.
  unsigned gridder_threads(unsigned n_threads) const { return n_workers > 1 ? 1 : n_threads; }
  std::string describe(std::size_t n_intervals) const;  ///< a line for people
};

/// After the passes of `own` have been planned; sets own.intervals.
void plan_intervals(const Imager& imager, PreparedGroup& own, std::span<const TimeInterval> intervals);

}  // namespace apsyn::imaging
