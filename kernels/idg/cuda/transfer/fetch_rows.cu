// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "kernels/common/cuda/launch.cuh"
#include "kernels/idg/cuda/transfer/fetch_rows.cuh"
#include "kernels/idg/partition/row_weights.h"

namespace apsyn::idg {
namespace {

constexpr std::uint32_t kWarp = 32;
/// Rows that a warp asks for before it waits: the bus takes 2 us to answer, and 100 KB must be on their way.
constexpr std::uint32_t kAtOnce = 8;
/// More would take multiprocessors from the sums, and fetch no faster.
constexpr unsigned kMaxBlocks = 64;

__global__ void __launch_bounds__(kThreads)
    fetch_rows(const uint4* from, std::uint32_t n_words, const std::uint32_t* rows, std::uint32_t n_rows,
               uint4* to) {
  const std::uint32_t lane = threadIdx.x % kWarp;
  const std::size_t n_warps = std::size_t(gridDim.x) * (kThreads / kWarp);
  for (std::size_t first = this_thread() / kWarp * kWarp; first < n_rows; first += n_warps * kWarp) {
    const auto n = static_cast<std::uint32_t>(min(std::size_t(kWarp), n_rows - first));
    const std::uint32_t own = rows[first + min(lane, n - 1)];
    for (std::uint32_t i = 0; i < n; i += kAtOnce)
      for (std::uint32_t begin = 0; begin < n_words; begin += kWarp) {
        const std::uint32_t word = begin + lane;
        uint4 values[kAtOnce];
#pragma unroll
        for (std::uint32_t k = 0; k < kAtOnce; ++k) {
          const std::size_t row = __shfl_sync(~0u, own, min(i + k, n - 1));
          if (i + k < n && word < n_words) values[k] = __ldcs(from + row * n_words + word);
        }
#pragma unroll
        for (std::uint32_t k = 0; k < kAtOnce; ++k)
          if (i + k < n && word < n_words) to[(first + i + k) * n_words + word] = values[k];
      }
  }
}

__global__ void unpack_weights(const std::uint32_t* packed, std::uint32_t n_words, std::uint32_t n_rows,
                               std::uint32_t n_chan, float* weight) {
  const std::size_t i = this_thread(), row = i / n_chan;
  if (row >= n_rows) return;
  const std::uint32_t chan = i % n_chan, *from = packed + row * n_words;
  weight[i] = from[1 + chan / 32] >> chan % 32 & 1 ? __uint_as_float(from[0]) : 0;
}

}  // namespace

void launch_fetch_rows(const void* from, std::uint32_t n_words, const std::uint32_t* rows,
                       std::uint32_t n_rows, void* to, cudaStream_t stream) {
  if (n_rows == 0 || n_words == 0) return;
  const unsigned n_blocks = std::min(kMaxBlocks, blocks_of(n_rows));
  fetch_rows<<<n_blocks, kThreads, 0, stream>>>(static_cast<const uint4*>(from), n_words, rows, n_rows,
                                                static_cast<uint4*>(to));
  launched("fetching rows");
}

void launch_unpack_weights(const std::uint32_t* packed, std::uint32_t n_rows, std::uint32_t n_chan,
                           float* weight, cudaStream_t stream) {
  const std::size_t n = std::size_t(n_rows) * n_chan;
  if (n == 0) return;
  unpack_weights<<<blocks_of(n), kThreads, 0, stream>>>(
      packed, static_cast<std::uint32_t>(row_weight_words(n_chan)), n_rows, n_chan, weight);
  launched("unpacking weights");
}

}  // namespace apsyn::idg
