// SPDX-License-Identifier: GPL-3.0-or-later
// The kernels behind excise_cuda.h. Operations on floats are rounded as on a CPU with fused
// products and sums.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace apsyn::excise {

/// Raw samples of a block.
struct RawBlock {
  const std::uint8_t* data = nullptr;  ///< [time][IF][chan]
  std::size_t row_bytes = 0;           ///< from time to time
  int n_chan = 0, n_time = 0;
  int second = 0;  ///< values to the IF that is added; 0 = none
  unsigned n_bit = 8;
  bool is_signed = false;
  const std::uint8_t* missing = nullptr;  ///< [time] 1: no data, as if not finite; null = none
};

struct Sums {
  double sum, square;
  std::uint64_t n;
};
/// First finite values, about [chan], and sums [piece][chan] about them as sum_piece() has them, of n_piece
/// pieces.
void launch_sums(const RawBlock& block, int n_piece, float* about, Sums* sums, cudaStream_t stream);

/// missing[time] = 1 where no channel has data: values that are not finite, or 0 where zeros count.
void launch_missing(const RawBlock& block, bool zeros, std::uint8_t* missing, cudaStream_t stream);

/// How a channel becomes int8: see NormaliseRun. scale 0: it becomes 0.
struct Lines {
  float level, rising, leaving, scale;
};
struct NormaliseTask {
  RawBlock block;
  const Lines* lines;  ///< [chan]
  float head_first, tail_first;
  const float* common;            ///< [time], or null
  std::int8_t* out;               ///< [chan][time]
  unsigned long long* n_clipped;  ///< added to
};
void launch_normalise(const NormaliseTask& task, cudaStream_t stream);

/// Sums of cleaned samples, out [group][time]: of the channels channel[begin[group]] .. [begin[group + 1]].
void launch_group_sums(const std::int8_t* samples, int n_time, const std::uint32_t* channel,
                       const std::uint32_t* begin, int n_group, float* out, cudaStream_t stream);

/// samples[chan][times[i]] = 0.
void launch_clear(std::int8_t* samples, int n_chan, int n_time, const std::uint32_t* times, int n,
                  cudaStream_t stream);

}  // namespace apsyn::excise
