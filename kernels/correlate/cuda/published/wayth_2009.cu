// SPDX-License-Identifier: GPL-3.0-or-later
// The three designs that Wayth et al. (2009) compare, section 4 and table 2, for redrawing their tables 3 and
// 4 on today's devices. Consecutive threads take consecutive channels, so that all reads are coalesced;
// products add up in registers over a call's spectra, then in device memory.
//
// Different from the paper: sums in device memory are float64; the table of pairs, which would not fit into
// constant memory for more than about 180 inputs, is read through the cache; inputs that a group of 2 or 4
// has too many count as 0.
#include "kernels/common/cuda/check.h"
#include "kernels/correlate/cuda/float_stage_kernels.cuh"

namespace apsyn::x_stage {
namespace {

constexpr int kThreads = 128;

struct Sum {
  float re = 0, im = 0;
  __device__ void add(float2 a, float2 b) {  // a b*
    re += a.x * b.x + a.y * b.y;
    im += a.y * b.x - a.x * b.y;
  }
};

__device__ __forceinline__ float2 read(const FloatTask& task, int t, int input, int chan) {
  return task.samples[(std::size_t(t) * task.n_input + input) * task.n_chan + chan];
}

__device__ __forceinline__ void store(const FloatTask& task, int i, int j, int chan, const Sum& sum) {
  const std::size_t pair = std::size_t(i) * task.n_input - std::size_t(i) * (i + 1) / 2 + j;
  double2& total = task.sums.sums[pair * task.sums.pair_stride + chan];
  total = make_double2(total.x + double(sum.re), total.y + double(sum.im));
}

/// A thread owns one product of one channel: 2 reads for a product, no shared memory.
__global__ void __launch_bounds__(kThreads) pair_parallel(FloatTask task, const InputPair* pairs) {
  const InputPair pair = pairs[blockIdx.x];
  const int chan = blockIdx.y * kThreads + threadIdx.x;
  if (chan >= task.n_chan) return;
  Sum sum;
  for (int t = 0; t < task.n_spectra; ++t) sum.add(read(task, t, pair.i, chan), read(task, t, pair.j, chan));
  store(task, pair.i, pair.j, chan, sum);
}

/// A block owns G inputs i, G inputs j and 128 / G channels; its threads share the samples of the inputs i,
/// and each multiplies one sample j with all of them: 2 G reads for G^2 products.
template <int kGroup>
__global__ void __launch_bounds__(kThreads) group_parallel(FloatTask task, const InputPair* pairs) {
  constexpr int kChannels = kThreads / kGroup;
  __shared__ float2 shared[kGroup][kChannels];
  const InputPair groups = pairs[blockIdx.x];
  const int step = threadIdx.x, member = threadIdx.y;
  const int chan = blockIdx.y * kChannels + step;
  const int i = groups.i * kGroup + member, j = groups.j * kGroup + member;
  const bool has_i = chan < task.n_chan && i < task.n_input, has_j = chan < task.n_chan && j < task.n_input;
  Sum sums[kGroup];
  for (int t = 0; t < task.n_spectra; ++t) {
    shared[member][step] = has_i ? read(task, t, i, chan) : make_float2(0, 0);
    const float2 b = has_j ? read(task, t, j, chan) : make_float2(0, 0);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kGroup; ++k) sums[k].add(shared[k][step], b);
    __syncthreads();
  }
  if (!has_j) return;
  for (int k = 0; k < kGroup; ++k)
    if (groups.i * kGroup + k <= j) store(task, groups.i * kGroup + k, j, chan, sums[k]);
}

/// A thread owns one input i, G inputs j and a channel, and uses shared memory as registers: G + 1 reads for
/// G products, and no thread waits for another. Blocks of the redundant half of the matrix return at once.
template <int kGroup>
__global__ void __launch_bounds__(kThreads) hybrid_group(FloatTask task) {
  __shared__ float2 shared[kThreads];
  const int i = blockIdx.x, first_j = blockIdx.y * kGroup, chan = blockIdx.z * kThreads + threadIdx.x;
  if (first_j + kGroup <= i || chan >= task.n_chan) return;
  Sum sums[kGroup];
  for (int t = 0; t < task.n_spectra; ++t) {
    shared[threadIdx.x] = read(task, t, i, chan);
#pragma unroll
    for (int k = 0; k < kGroup; ++k)
      if (first_j + k < task.n_input) sums[k].add(shared[threadIdx.x], read(task, t, first_j + k, chan));
  }
  for (int k = 0; k < kGroup; ++k)
    if (first_j + k >= i && first_j + k < task.n_input) store(task, i, first_j + k, chan, sums[k]);
}

/// A block owns 32 inputs and 32 channels of one spectrum.
__global__ void __launch_bounds__(256) channels_fastest(FloatTask task, float2* out) {
  __shared__ float2 tile[32][33];
  const int t = blockIdx.x, first_input = blockIdx.y * 32, first_chan = blockIdx.z * 32;
  const int x = threadIdx.x % 32;
  for (int y = threadIdx.x / 32; y < 32; y += 8) {
    const int chan = first_chan + y, input = first_input + x;
    if (chan < task.n_chan && input < task.n_input)
      tile[y][x] = task.samples[chan * task.chan_stride + std::size_t(t) * task.n_input + input];
  }
  __syncthreads();
  for (int y = threadIdx.x / 32; y < 32; y += 8) {
    const int chan = first_chan + x, input = first_input + y;
    if (chan < task.n_chan && input < task.n_input)
      out[(std::size_t(t) * task.n_input + input) * task.n_chan + chan] = tile[x][y];
  }
}

int parts_of(int n, int size) {
  return (n + size - 1) / size;
}

}  // namespace

void launch_pair_parallel(const FloatTask& task, const InputPair* pairs, cudaStream_t stream) {
  const dim3 grid(task.n_input * (task.n_input + 1) / 2, parts_of(task.n_chan, kThreads));
  pair_parallel<<<grid, kThreads, 0, stream>>>(task, pairs);
  cuda_check(cudaGetLastError(), "launching the X stage (pair parallel)");
}

void launch_group_parallel(const FloatTask& task, int group, const InputPair* pairs, int n_pairs,
                           cudaStream_t stream) {
  const dim3 grid(n_pairs, parts_of(task.n_chan, kThreads / group)), block(kThreads / group, group);
  const auto kernel = group == 2 ? group_parallel<2> : group_parallel<4>;
  kernel<<<grid, block, 0, stream>>>(task, pairs);
  cuda_check(cudaGetLastError(), "launching the X stage (group parallel)");
}

void launch_hybrid_group(const FloatTask& task, int group, cudaStream_t stream) {
  const dim3 grid(task.n_input, parts_of(task.n_input, group), parts_of(task.n_chan, kThreads));
  const auto kernel = group == 2 ? hybrid_group<2> : hybrid_group<4>;
  kernel<<<grid, kThreads, 0, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the X stage (hybrid group)");
}

void launch_channels_fastest(const FloatTask& task, float2* out, cudaStream_t stream) {
  const dim3 grid(task.n_spectra, parts_of(task.n_input, 32), parts_of(task.n_chan, 32));
  channels_fastest<<<grid, 256, 0, stream>>>(task, out);
  cuda_check(cudaGetLastError(), "launching the X stage's transposition");
}

}  // namespace apsyn::x_stage
