// SPDX-License-Identifier: GPL-3.0-or-later
// The X stage's kernels on integers and how they are launched. Samples: kernels/common/cuda/x_layout.cuh.
// Sums: int2 (re, im) [chan][tile pair][row][column]; with 4-bit samples, which the kernels multiply times
// 16, they are 256 times the sums.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/common/cuda/tile_sums.cuh"
#include "kernels/common/cuda/x_layout.cuh"

namespace apsyn::x_stage {

using x_layout::Bits;
using x_layout::kBlockSpectra;
using x_layout::Layout;

constexpr int kRowBytes = 2 * kBlockSpectra;  ///< of 8-bit samples

/// Tiles of inputs to cross: row tile <= column tile.
struct TilePair {
  int row, column;
};

struct Task {
  const std::int8_t* samples;  ///< the first block to take
  int2* sums;
  const TilePair* pairs;
  int n_pairs, n_chan;
  int n_blocks;                           ///< to take of each channel
  std::size_t block_stride, chan_stride;  ///< bytes
  bool accumulate;                        ///< add to `sums` instead of overwriting them
};

// wgmma kernels: 128x128 tiles, or one 64x64 tile for up to 64 inputs.
void launch_wgmma_128(const Task& task, Bits bits, int n_sm, cudaStream_t stream);
void launch_wgmma_64(const Task& task, Bits bits, int n_sm, cudaStream_t stream);
// mma.sync kernel: 64x64 tiles.
void launch_mma_64(const Task& task, cudaStream_t stream);

/// If the spectra end within a block, clears the rest of that block.
void launch_clear_tail(const Layout& layout, std::int8_t* samples, int n_spectra, cudaStream_t stream);

/// The first n_blocks blocks of 4-bit samples of each channel as 8-bit ones, in the same layout but for
/// `bits`.
void launch_expand(const Layout& layout, const std::int8_t* in, int n_blocks, std::int8_t* out,
                   cudaStream_t stream);

/// The channel and tile pair of the launch's item number `item`. Pairs rotate from one round of blocks to the
/// next, so that no block gets only pairs off the diagonal, which cost more.
struct Item {
  int chan, pair;
};
__host__ __device__ inline Item item_of(int item, int n_pairs, int n_thread_blocks) {
  const int chan = item / n_pairs;
  const int round = static_cast<int>(static_cast<long long>(chan) * n_pairs / n_thread_blocks);
  return {chan, static_cast<int>((item % n_pairs + static_cast<long long>(round)) % n_pairs)};
}

}  // namespace apsyn::x_stage
