// SPDX-License-Identifier: GPL-3.0-or-later
// What the X stage's kernels share: the layout of samples and sums on the device, and how they are launched.
//
// Samples: int8 [chan][time block][input, padded to whole tiles][128 B], a row being 64 real and then 64
// imaginary parts. The row's eight 16-byte chunks stand at chunk ^ (input & 7): the 128-byte swizzle that
// wgmma and ldmatrix read without bank conflicts, laid down in memory so that one flat bulk copy brings a
// tile. Sums: int2 (re, im) [chan][tile pair][row][column].
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace apsyn::x_stage {

constexpr int kBlockTime = 64;
constexpr int kRowBytes = 2 * kBlockTime;

/// Tiles of inputs to cross: row tile <= column tile.
struct TilePair {
  int row, column;
};

struct Task {
  const std::int8_t* samples;
  int2* sums;
  const TilePair* pairs;
  int n_pairs, n_chan, n_blocks, n_input_padded;
  bool accumulate;  ///< add to `sums` instead of overwriting them
};

// wgmma kernels: 128x128 tiles, or one 64x64 tile for up to 64 inputs.
void launch_wgmma_128(const Task& task, int n_sm, cudaStream_t stream);
void launch_wgmma_64(const Task& task, int n_sm, cudaStream_t stream);
// mma.sync kernel: 64x64 tiles.
void launch_mma_64(const Task& task, cudaStream_t stream);

/// Host order [time][chan][input][re, im] -> the layout above; what lies beyond n_time or n_input becomes 0.
struct PackTask {
  const char2* in;
  std::int8_t* out;
  int n_time, n_chan, n_input, n_input_padded, n_blocks;
};
void launch_pack(const PackTask& task, cudaStream_t stream);

/// total [chan][pair i <= j][re, im] = or += sums.
struct SpillTask {
  const int2* sums;
  long long* total;
  int n_chan, n_input, tile, n_tiles;
  bool accumulate;
};
void launch_spill(const SpillTask& task, cudaStream_t stream);

/// Where the pair (row, column) stands among n tiles' pairs: off-diagonal pairs row-major, then the diagonal,
/// which costs less and so fills the last wave better.
__host__ __device__ inline int pair_index(int row, int column, int n) {
  const int n_off = n * (n - 1) / 2;
  return row == column ? n_off + row : row * n - row * (row + 1) / 2 + column - row - 1;
}

}  // namespace apsyn::x_stage
