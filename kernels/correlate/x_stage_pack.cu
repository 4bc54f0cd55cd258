// SPDX-License-Identifier: GPL-3.0-or-later
// Into the X stage's layout, and out of it.
#include "kernels/common/cuda_check.h"
#include "kernels/correlate/x_stage_kernels.cuh"

namespace apsyn::x_stage {
namespace {

constexpr int kPackInputs = 32, kPackThreads = 256;

/// A block owns 32 inputs of one time block and channel and turns them round through shared memory.
__global__ void __launch_bounds__(kPackThreads) pack(PackTask task) {
  __shared__ char2 samples[kBlockTime][kPackInputs + 1];
  const int chan = blockIdx.z, block = blockIdx.y, first_input = blockIdx.x * kPackInputs;
  for (int k = threadIdx.x; k < kBlockTime * kPackInputs; k += kPackThreads) {
    const int t = k / kPackInputs, i = k % kPackInputs;
    const int time = block * kBlockTime + t, input = first_input + i;
    samples[t][i] = time < task.n_time && input < task.n_input
                        ? task.in[(std::size_t(time) * task.n_chan + chan) * task.n_input + input]
                        : make_char2(0, 0);
  }
  __syncthreads();
  constexpr int kWords = kRowBytes / 4;
  for (int k = threadIdx.x; k < kPackInputs * kWords; k += kPackThreads) {
    const int i = k / kWords, word = k % kWords, input = first_input + i;
    const int t = (word % (kWords / 2)) * 4;
    std::uint32_t packed = 0;
    for (int e = 0; e < 4; ++e) {
      const char2 sample = samples[t + e][i];
      packed |= std::uint32_t(std::uint8_t(word < kWords / 2 ? sample.x : sample.y)) << (8 * e);
    }
    const int chunk = (word / 4) ^ (input & 7);
    std::int8_t* row =
        task.out + ((std::size_t(chan) * task.n_blocks + block) * task.n_input_padded + input) * kRowBytes;
    *reinterpret_cast<std::uint32_t*>(row + chunk * 16 + (word % 4) * 4) = packed;
  }
}

/// A block owns row i of one channel: pairs (i, j >= i).
__global__ void spill(SpillTask task) {
  const int i = blockIdx.x, chan = blockIdx.y, tile = task.tile;
  const int n_pairs = task.n_tiles * (task.n_tiles + 1) / 2;
  const std::size_t n_baselines = std::size_t(task.n_input) * (task.n_input + 1) / 2;
  const std::size_t first =
      std::size_t(i) * task.n_input - std::size_t(i) * (i - 1) / 2 - i;  // + j = pair (i, j)
  for (int j = i + threadIdx.x; j < task.n_input; j += blockDim.x) {
    const int pair = pair_index(i / tile, j / tile, task.n_tiles);
    const int2 sum =
        task.sums[((std::size_t(chan) * n_pairs + pair) * tile + i % tile) * tile + std::size_t(j % tile)];
    long long* total = task.total + (std::size_t(chan) * n_baselines + first + j) * 2;
    total[0] = (task.accumulate ? total[0] : 0) + sum.x;
    total[1] = (task.accumulate ? total[1] : 0) + sum.y;
  }
}

}  // namespace

void launch_pack(const PackTask& task, cudaStream_t stream) {
  pack<<<dim3(task.n_input_padded / kPackInputs, task.n_blocks, task.n_chan), kPackThreads, 0, stream>>>(
      task);
  cuda_check(cudaGetLastError(), "launching the X stage's packing");
}

void launch_spill(const SpillTask& task, cudaStream_t stream) {
  spill<<<dim3(task.n_input, task.n_chan), 128, 0, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the X stage's spill to int64");
}

}  // namespace apsyn::x_stage
