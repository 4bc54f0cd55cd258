// SPDX-License-Identifier: GPL-3.0-or-later
// Both stages are limited by how many samples a multiprocessor can load and add, not by device memory: a
// sample is loaded with its three neighbours in one word, which a shift aligns, and dot products with one-hot
// bytes add it to its own 32-bit sum, one instruction a sample. Neighbouring rows and trials read the same
// samples with slightly different shifts, so that they come out of the caches.
#include "kernels/common/cuda/launch.cuh"
#include "kernels/dedisperse/cuda/kernels.cuh"

namespace apsyn::dedispersion {
namespace {

constexpr int kBlock = 256;
constexpr int kWords = 2;        ///< a thread's words, kBlock words apart
constexpr int kTrials = 8;       ///< of a block
constexpr int kSharedUses = 64;  ///< sub-bands whose uses are fetched together
constexpr int kMaxChannels = 258;

static_assert(kReadBeyond >= 2 * kWords * kBlock + 4);

__global__ void append_kernel(AppendTask task) {
  const std::size_t t = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x, chan = blockIdx.y;
  const std::size_t n_out = (task.n_time + task.factor - 1) / task.factor;
  if (t >= n_out) return;
  std::int32_t sum = 0;
  if (task.samples != nullptr) {
    const std::int8_t* from = task.samples + chan * task.n_time;
    const std::size_t begin = t * task.factor, end = min(task.n_time, begin + task.factor);
    for (std::size_t i = begin; i < end; ++i) sum += from[i];
    if (task.factor > 1) sum = max(-127, min(127, (sum * task.scale + 32768) >> 16));
  }
  const std::size_t row = chan * (task.ring.mask + 1);
  task.ring.first[row + ((task.at + t) & task.ring.mask)] = static_cast<std::uint8_t>(sum);
}

/// A block makes 4 kWords kBlock neighbouring sums of one row; a thread 4 in each of kWords words.
__global__ void __launch_bounds__(kBlock) partial_kernel(PartialTask task) {
  __shared__ std::uint32_t offsets[kMaxChannels];
  const PartialRow row = task.rows[blockIdx.y];
  for (unsigned i = threadIdx.x; i < row.n_chan; i += kBlock) offsets[i] = task.offsets[row.first_offset + i];
  __syncthreads();
  const std::uint64_t tile = std::uint64_t(blockIdx.x) * (4 * kWords * kBlock);
  const std::uint64_t words = task.ring.mask >> 2;
  const auto* samples =
      reinterpret_cast<const std::uint32_t*>(task.ring.first) + std::size_t(row.first_chan) * (words + 1);
  int sum[kWords][4] = {};
#pragma unroll 4
  for (std::uint32_t chan = 0; chan < row.n_chan; ++chan) {
    const std::uint64_t at = task.first + row.first_shift + offsets[chan] + tile;
    const unsigned bits = 8 * static_cast<unsigned>(at & 3);
    const auto word = static_cast<std::uint32_t>((at >> 2) & words);
    const std::uint32_t* own = samples + word + threadIdx.x;
    std::uint32_t low[kWords], high[kWords];
    if (word + kWords * kBlock + 1 <= words) {
#pragma unroll
      for (int k = 0; k < kWords; ++k) low[k] = own[k * kBlock], high[k] = own[k * kBlock + 1];
    } else {  // the tile goes round the ring's end
#pragma unroll
      for (int k = 0; k < kWords; ++k) {
        low[k] = samples[(word + threadIdx.x + k * kBlock) & words];
        high[k] = samples[(word + threadIdx.x + k * kBlock + 1) & words];
      }
    }
#pragma unroll
    for (int k = 0; k < kWords; ++k) {
      const int four = static_cast<int>(__funnelshift_r(low[k], high[k], bits));
#pragma unroll
      for (int i = 0; i < 4; ++i) sum[k][i] = __dp4a(four, 1 << (8 * i), sum[k][i]);
    }
    samples += words + 1;
  }
#pragma unroll
  for (int k = 0; k < kWords; ++k) {
    const std::size_t t = tile + 4 * (threadIdx.x + k * kBlock);
    if (t + 4 > task.stride) continue;
    const auto pair = [](int a, int b) {
      return (static_cast<unsigned>(a) & 0xffffu) | static_cast<unsigned>(b) << 16;
    };
    *reinterpret_cast<uint2*>(task.out + blockIdx.y * task.stride + t) =
        make_uint2(pair(sum[k][0], sum[k][1]), pair(sum[k][2], sum[k][3]));
  }
}

/// A block makes 2 kWords kBlock neighbouring samples of kTrials trials; a thread 2 in each of kWords words.
__global__ void __launch_bounds__(kBlock) trial_kernel(TrialTask task) {
  __shared__ std::uint64_t uses[kTrials][kSharedUses];  // samples after the first row's beginning
  const std::size_t tile = std::size_t(blockIdx.x) * (2 * kWords * kBlock);
  const std::size_t first_trial = std::size_t(blockIdx.y) * kTrials;
  const auto* sums = reinterpret_cast<const std::uint32_t*>(task.sums) + threadIdx.x;
  int sum[kTrials][kWords][2] = {};
  for (std::size_t begin = 0; begin < task.n_subband; begin += kSharedUses) {
    const int n = static_cast<int>(min(task.n_subband - begin, std::size_t(kSharedUses)));
    __syncthreads();
    for (int i = threadIdx.x; i < kTrials * n; i += kBlock) {
      // trials beyond the last do the last one's work again
      const std::size_t trial = min(first_trial + i / n, task.n_trial - 1);
      const RowUse use = task.uses[trial * task.n_subband + begin + i % n];
      uses[i / n][i % n] = use.row * task.sum_stride + use.shift + tile;
    }
    __syncthreads();
    for (int s = 0; s < n; ++s)
#pragma unroll
      for (int trial = 0; trial < kTrials; ++trial) {
        const std::uint64_t at = uses[trial][s];
        const unsigned bits = 16 * static_cast<unsigned>(at & 1);
        const std::uint32_t* own = sums + (at >> 1);
#pragma unroll
        for (int k = 0; k < kWords; ++k) {
          // what lies beyond the row's end is beyond the output's, too
          const std::uint32_t low = own[k * kBlock], high = own[k * kBlock + 1];
          const int two = static_cast<int>(__funnelshift_r(low, high, bits));
          sum[trial][k][0] = __dp2a_lo(two, 0x01, sum[trial][k][0]);
          sum[trial][k][1] = __dp2a_lo(two, 0x0100, sum[trial][k][1]);
        }
      }
  }
#pragma unroll
  for (int trial = 0; trial < kTrials; ++trial) {
    if (first_trial + trial >= task.n_trial) return;
    float* out = task.out + (first_trial + trial) * task.stride;
#pragma unroll
    for (int k = 0; k < kWords; ++k)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const std::size_t t = tile + 2 * (threadIdx.x + k * kBlock) + i;
        if (t < task.n_time) out[t] = static_cast<float>(sum[trial][k][i]);
      }
  }
}

unsigned tiles(std::size_t n, std::size_t size) {
  return static_cast<unsigned>((n + size - 1) / size);
}

}  // namespace

void launch_append(const AppendTask& task, cudaStream_t stream) {
  const std::size_t n_out = (task.n_time + task.factor - 1) / task.factor;
  for (std::size_t first = 0; first < task.n_chan; first += 65535) {  // the most rows of a grid
    AppendTask part = task;
    part.n_chan = task.n_chan - first < 65535 ? task.n_chan - first : 65535;
    if (task.samples != nullptr) part.samples += first * task.n_time;
    part.ring.first += first * (task.ring.mask + 1);
    append_kernel<<<dim3(tiles(n_out, kBlock), static_cast<unsigned>(part.n_chan)), kBlock, 0, stream>>>(
        part);
    launched("taking samples");
  }
}

void launch_partial_sums(const PartialTask& task, cudaStream_t stream) {
  for (std::size_t first = 0; first < task.n_row; first += 65535) {
    PartialTask part = task;
    part.n_row = task.n_row - first < 65535 ? task.n_row - first : 65535;
    part.rows += first;
    part.out += first * task.stride;
    const dim3 grid(tiles(task.n_time, 4 * kWords * kBlock), static_cast<unsigned>(part.n_row));
    partial_kernel<<<grid, kBlock, 0, stream>>>(part);
    launched("summing sub-bands");
  }
}

void launch_trials(const TrialTask& task, cudaStream_t stream) {
  const dim3 grid(tiles(task.n_time, 2 * kWords * kBlock), tiles(task.n_trial, kTrials));
  trial_kernel<<<grid, kBlock, 0, stream>>>(task);
  launched("summing trials");
}

}  // namespace apsyn::dedispersion
