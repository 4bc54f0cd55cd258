// SPDX-License-Identifier: GPL-3.0-or-later
// Sums of products of pairs of inputs as the X stage on integers leaves them on the device: int2 (re, im)
// [chan] [tile pair][row][column].
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace apsyn::x_stage {

/// Integer sums: what the last launches left in tiles, and what was spilled before.
struct TileSums {
  const int2* sums = nullptr;        ///< null = nothing
  const longlong2* total = nullptr;  ///< [chan][pair i <= j] (re, im); null = nothing
  int n_input = 0, tile = 0, n_tiles = 0;
  int shift = 0;  ///< `sums` are 2^shift times the samples' sums
};

/// Where the pair (row, column) stands among n tiles' pairs: off-diagonal pairs row-major, then the diagonal,
/// which costs less and so fills the last wave better.
__host__ __device__ inline int pair_index(int row, int column, int n) {
  const int n_off = n * (n - 1) / 2;
  return row == column ? n_off + row : row * n - row * (row + 1) / 2 + column - row - 1;
}

#ifdef __CUDACC__
/// i <= j; tiles are of powers of two.
__device__ __forceinline__ const int2* tile_place(const TileSums& sums, int chan, int i, int j) {
  const int n_pairs = sums.n_tiles * (sums.n_tiles + 1) / 2, tile = sums.tile, bits = __popc(tile - 1);
  const std::size_t item = std::size_t(chan) * n_pairs + pair_index(i >> bits, j >> bits, sums.n_tiles);
  return sums.sums + ((item << 2 * bits) + ((i & (tile - 1)) << bits) + (j & (tile - 1)));
}
__device__ __forceinline__ int2 tile_sum(const TileSums& sums, int chan, int i, int j) {
  const int2 sum = *tile_place(sums, chan, i, j);
  return make_int2(sum.x >> sums.shift, sum.y >> sums.shift);
}
#endif

}  // namespace apsyn::x_stage
