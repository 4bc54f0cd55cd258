// SPDX-License-Identifier: GPL-3.0-or-later
// The steps in which a block is measured and cleaned (excise.h), each of which a CPU or a GPU takes, to the
// same bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/excise/excise.h"
#include "kernels/excise/normalise.h"
#include "kernels/excise/piece_sums.h"
#include "libcore/base/view.h"

namespace apsyn {

class BlockSteps {
 public:
  virtual ~BlockSteps() = default;
  virtual std::size_t n_time() const = 0;
  /// Level, noise, drift and `good` of all channels but for the times s.missing; `look`: which are missing,
  /// and how many values are not finite.
  virtual void measure_channels(BlockStatistics& s, bool look) = 0;
  /// All good channels to int8, the others to zero; `common` [time] is taken away, or null. Returns the
  /// values clipped.
  virtual std::uint64_t normalise(const BlockStatistics* before, const BlockStatistics& now,
                                  const BlockStatistics* after, const float* common) = 0;
  /// Sums of up to 16 groups of neighbouring good channels, [group][time].
  virtual Buffer<float, 2> group_sums(const BlockStatistics& now) = 0;
  /// Zeroes all channels at these times.
  virtual void clear(std::span<const std::size_t> times) = 0;
};

BlockStatistics measure_block(const ExciseSettings& settings, BlockSteps& steps);
void clean_block(const ExciseSettings& settings, BlockSteps& steps, const BlockStatistics* before,
                 const BlockStatistics& now, const BlockStatistics* after, std::span<std::uint8_t> good_time,
                 ExciseReport& report);

/// A channel's pieces.
struct ChannelSums {
  float about = 0;  ///< its first finite value
  PieceSums piece[kStatisticPieces];
};
/// Where a piece begins.
inline std::size_t piece_begin(std::size_t piece, std::size_t n_time) {
  return piece * n_time / kStatisticPieces;
}
/// A channel's statistics from its sums; returns how many of its values are not finite.
std::size_t measure_channel(const ChannelSums& sums, std::size_t chan, BlockStatistics& s);

/// How a channel is normalised: the level as two lines, from the middle of the block before and to that of
/// the block after.
struct ChannelLines {
  NormaliseRun head, tail;  ///< of the first and of the second half
};
ChannelLines lines_of(const BlockStatistics* before, const BlockStatistics& now, const BlockStatistics* after,
                      std::size_t chan);

/// Good channels in groups of neighbours, for find_bad_times().
struct ChannelGroups {
  std::vector<std::uint32_t> channel;  ///< good ones, ascending
  std::size_t n_group = 0;
  std::size_t begin(std::size_t group) const { return group * channel.size() / n_group; }
};
ChannelGroups groups_of(const BlockStatistics& now);

}  // namespace apsyn
