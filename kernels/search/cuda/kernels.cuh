// SPDX-License-Identifier: GPL-3.0-or-later
// The kernels behind series_cuda.h. Arrays are [series][...].
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace apsyn::series {

/// Of a segment; the fields of SegmentStatistics.
struct Statistics {
  double level = 0, variance = 0, slow = 0;
};

/// What one series' weights are; null changes: one weight.
struct Weight {
  float first = 1, most = 1;
  std::uint32_t first_change = 0, n_change = 0;
};
struct Change {
  std::uint32_t at = 0;
  float step = 0;
};

/// Segments of a buffer of n_time samples: all of `segment` samples but the last, which ends with the buffer.
struct Segments {
  int n_time = 0, segment = 0, n_segment = 0;
  int end_of_last = 0;
};

/// Windows that begin in [begin, end) of a segment.
struct Tile {
  int begin = 0, end = 0, segment = 0;
};

struct Hit {
  std::uint32_t series = 0, tile = 0, rank = 0, width_index = 0;
  std::int32_t begin = 0;
  float sn = 0;
};

struct SearchTask {
  const float* values = nullptr;  ///< [series][stride]
  std::size_t stride = 0;
  int n_series = 0;
  Segments segments;
  const Weight* weight = nullptr;      ///< [series]
  const Change* changes = nullptr;     ///< of all series
  float* weights = nullptr;            ///< [series][n_time]; null: every series has one weight
  double* weight_sums = nullptr;       ///< [series][n_time + 1]
  Statistics* statistics = nullptr;    ///< [series][segment]
  const Statistics* before = nullptr;  ///< [series], of the segment before the buffer; may be null
  double* sums = nullptr;              ///< [series][n_time + 1], of the detrended values before each
  const Tile* tiles = nullptr;
  int n_tile = 0;
  const int* widths = nullptr;  ///< ascending
  int n_width = 0;
  float threshold = 0;
  Hit* hits = nullptr;
  unsigned* n_hit = nullptr;
};

/// One after the other on a stream.
void launch_weights(const SearchTask& task, cudaStream_t stream);
void launch_statistics(const SearchTask& task, cudaStream_t stream);
void launch_detrend(const SearchTask& task, cudaStream_t stream);
void launch_windows(const SearchTask& task, cudaStream_t stream);

/// Hits of one series in one tile, at most; those of series.cpp.
constexpr int kMaxHits = 64;

}  // namespace apsyn::series
