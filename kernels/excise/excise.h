// SPDX-License-Identifier: GPL-3.0-or-later
// Takes the bandpass and interference out of a dynamic spectrum, block by block: samples become int8 in units
// of 1/8 of their channel's noise.
//
// Each channel of a block is cut into 16 pieces; the medians of the pieces' means and variances are its level
// m_c and noise s_c, which short bursts do not reach. The level in between is a line from the middle of each
// block to that of the next. Then three thresholds of `rfi_sigma`, each in units of the robust spread of what
// it tests:
// 1. Channels: log s_c against the bandpass, a running median over 33 channels, where it is more than twice
//    or less than a quarter of that; and the scatter of the 16 means against what noise of s_c gives. Dead
//    channels and those with more than 1 % of values not finite go too. Gains and levels of their own do no
//    harm: every eighth channel of ASKAP was taken out for them, which cost a burst a tenth of its S/N.
// 2. Times: the median of up to 16 groups of channels at one sample. A burst that is not dispersed is in all
//    groups; a dispersed pulse is not in half of them at once, unless it crosses half of the band within its
//    width.
// 3. Single values are clipped at 127/8 = 15.9 s_c.
// Times at which no channel has data (values not finite, or with zeros_are_missing 0) are left out of all
// this and taken out. What was taken out is zero and reported, so that sums can count it as missing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libcore/base/view.h"

namespace apsyn {

/// int8 steps of a channel's noise.
inline constexpr float kStepsPerSigma = 8;
/// Pieces of a block for levels and noise; a block has at least that many samples.
inline constexpr std::size_t kStatisticPieces = 16;

struct ExciseSettings {
  std::size_t n_chan = 1;
  double rfi_sigma = 5;  ///< 0: nothing is taken out but dead channels
  bool zero_dm = false;  ///< take the mean over channels away at each time (Eatough, Keane & Lyne 2009)
  unsigned n_threads = 1;
  bool zeros_are_missing = false;  ///< a time at which all channels are 0 has no data
};

/// Samples of a block, where they come from.
class BlockSamples {
 public:
  virtual ~BlockSamples() = default;
  virtual std::size_t n_time() const = 0;
  /// Fills out[chan - first][time] for out.extent(0) channels; out.extent(1) may exceed n_time(). Any thread.
  virtual void channels(std::size_t first, View<float, 2> out) const = 0;
};

struct BlockStatistics {
  std::size_t n_time = 0;
  std::vector<float> level, noise;  ///< [chan]
  std::vector<float> drift;         ///< [chan] scatter of the pieces' means over that of noise, 1 expected
  std::vector<std::uint8_t> good;   ///< [chan] not taken out
  std::uint64_t n_not_finite = 0;
  std::vector<std::size_t> missing;  ///< times at which no channel has data
};

struct ExciseReport {
  std::uint64_t n_channel_blocks = 0, n_bad_channel_blocks = 0;  ///< one channel in one block
  std::uint64_t n_time = 0, n_bad_time = 0;
  std::uint64_t n_value = 0, n_clipped = 0, n_not_finite = 0;
};

/// Levels, noise and good channels of a block.
BlockStatistics measure_block(const ExciseSettings& settings, const BlockSamples& samples);

/// Writes out[chan * stride + time] and good_time[time] (1: not taken out). `before` and `after` are the
/// neighbours, or null at the ends.
void clean_block(const ExciseSettings& settings, const BlockSamples& samples, const BlockStatistics* before,
                 const BlockStatistics& now, const BlockStatistics* after, std::int8_t* out,
                 std::size_t stride, std::span<std::uint8_t> good_time, ExciseReport& report);

/// Marks bad channels in statistics.good. Threshold 1 above.
void find_bad_channels(double rfi_sigma, BlockStatistics& statistics, unsigned n_threads = 1);
/// Threshold 2 above, for group sums [group][time] in any unit: zeroes good_time where it is exceeded.
/// Times whose good_time is 0 already do not count.
void find_bad_times(double rfi_sigma, View<const float, 2> groups, std::span<std::uint8_t> good_time,
                    unsigned n_threads = 1);

}  // namespace apsyn
