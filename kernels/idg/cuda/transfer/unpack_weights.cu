// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/launch.cuh"
#include "kernels/idg/cuda/transfer/unpack_weights.cuh"
#include "kernels/idg/partition/row_weights.h"

namespace apsyn::idg {
namespace {

__global__ void unpack_weights(const std::uint32_t* packed, std::uint32_t n_words, std::uint32_t n_rows,
                               std::uint32_t n_chan, float* weight) {
  const std::size_t i = this_thread(), row = i / n_chan;
  if (row >= n_rows) return;
  const std::uint32_t chan = i % n_chan, *from = packed + row * n_words;
  weight[i] = from[1 + chan / 32] >> chan % 32 & 1 ? __uint_as_float(from[0]) : 0;
}

}  // namespace

void launch_unpack_weights(const std::uint32_t* packed, std::uint32_t n_rows, std::uint32_t n_chan,
                           float* weight, cudaStream_t stream) {
  const std::size_t n = std::size_t(n_rows) * n_chan;
  if (n == 0) return;
  unpack_weights<<<blocks_of(n), kThreads, 0, stream>>>(
      packed, static_cast<std::uint32_t>(row_weight_words(n_chan)), n_rows, n_chan, weight);
  launched("unpacking weights");
}

}  // namespace apsyn::idg
