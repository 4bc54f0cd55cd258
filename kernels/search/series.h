// SPDX-License-Identifier: GPL-3.0-or-later
// Searches one dedispersed series for pulses. The series is cut into segments. In each, medians over up to 64
// pieces give the level b per unit of weight and the variance v; a line from the middle of one segment to the
// next is taken away (a running median, then detrending), and windows of several widths W are compared with
// their noise:
//   S/N(t, W) = sum (y - b w) / sqrt( v (1 + e W) sum w ),   sums over t .. t + W - 1. (1)
// w counts the channels in y[t]. e is 0 for white noise; where pieces scatter more than their samples say by
// more than chance allows, it makes the noise of a window grow as a slow random process does, so that drifts
// do not become candidates.
//
// Of windows above the threshold that overlap, the best is a hit. Results depend on the segments, not on how
// the series arrives.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/search/boxcar.h"

namespace apsyn {

struct SeriesPlan {
  std::size_t segment = 4096;       ///< samples; at least 16 times the longest window
  std::vector<std::size_t> widths;  ///< samples, ascending
  double threshold = 8;
  BoxcarProgram program;  ///< of `widths`
};
/// std::invalid_argument for no widths, widths that do not ascend, or a segment that is too short for them.
SeriesPlan plan_series(std::size_t segment, std::vector<std::size_t> widths, double threshold);

struct SeriesHit {
  std::int64_t begin = 0;  ///< sample
  std::uint32_t width = 1;
  float sn = 0;
};

struct SegmentStatistics {
  double level = 0, variance = 0;  ///< per unit of weight; variance 0: nothing to search
  double slow = 0;                 ///< e of (1)
};
/// `weights` empty: all are `weight`.
SegmentStatistics measure_segment(std::span<const float> values, std::span<const float> weights,
                                  float weight);

/// What a series carries from one call to the next.
struct SeriesState {
  std::vector<float> kept;  ///< from the first segment that is not searched yet
  std::int64_t begin = 0;   ///< of `kept`, samples
  SegmentStatistics before;
  bool has_before = false;
};

/// Windows that begin in this many samples of a segment are looked at together; of those that overlap the
/// best is a hit, and no more than so many: a storm of interference must not fill the memory.
inline constexpr std::size_t kSearchTile = 2048;
inline constexpr std::size_t kMaxTileHits = 64;

class SeriesScratch {
 public:
  std::vector<float> joined;  ///< what a series kept, and its new values
  std::vector<float> values, weights, detrended, sums, weight_sums;
  std::vector<SegmentStatistics> statistics;
  std::vector<SeriesHit> above;
};

/// Segments of a series of n samples that starts at a segment's beginning: whole ones, and at its end the
/// rest, which joins the one before when it is shorter than half of a segment. Unless the series ends, only
/// whole ones count.
std::vector<std::size_t> segment_ends(std::size_t n, std::size_t segment, bool ends);

/// Joins state.kept and `values` and searches all segments but the last, which is kept; all if the series
/// `ends`. `values` is a multiple of a segment unless it ends. `weights` are those of state.kept and of
/// `values`; empty: all are `weight`.
void search_series(const SeriesPlan& plan, SeriesState& state, std::span<const float> values,
                   std::span<const float> weights, float weight, bool ends, SeriesScratch& scratch,
                   std::vector<SeriesHit>& hits);

}  // namespace apsyn
