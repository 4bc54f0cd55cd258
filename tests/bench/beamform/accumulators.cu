// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/beamform/accumulators.cuh"

#include <stdexcept>

#include "kernels/common/cuda/check.h"

namespace apsyn::bench {
namespace {

constexpr int kGroup = 4;

__device__ __forceinline__ float2 sample_of(std::uint32_t word, int ant) {
  const int byte = static_cast<int>(word >> 8 * ant);
  return make_float2(static_cast<float>(static_cast<signed char>(byte) >> 4),
                     static_cast<float>(static_cast<signed char>(byte << 4) >> 4));
}

template <int kAccumulators>
__global__ void accumulate(AccumulatorTask task) {
  __shared__ float2 weights[kAccumulators][kGroup];
  const int channel = blockIdx.y, first_beam = blockIdx.z * kAccumulators;
  const int spectrum = blockIdx.x * blockDim.x + threadIdx.x;
  float2 sum[kAccumulators];
#pragma unroll
  for (int b = 0; b < kAccumulators; ++b) sum[b] = make_float2(0, 0);
  for (int ant = 0; ant < task.n_ant; ant += kGroup) {
    const std::uint32_t word =
        spectrum < task.n_spectra
            ? task.samples[(std::size_t(channel) * (task.n_ant / kGroup) + ant / kGroup) * task.n_spectra +
                           spectrum]
            : 0;
    __syncthreads();
    for (int i = threadIdx.x; i < kAccumulators * kGroup; i += blockDim.x) {
      const int beam = first_beam + i / kGroup;
      weights[i / kGroup][i % kGroup] =
          beam < task.n_beam
              ? task.weights[(std::size_t(channel) * task.n_beam + beam) * task.n_ant + ant + i % kGroup]
              : make_float2(0, 0);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
      const float2 x = sample_of(word, i);
#pragma unroll
      for (int b = 0; b < kAccumulators; ++b) {
        const float2 w = weights[b][i];
        sum[b].x = fmaf(w.x, x.x, fmaf(-w.y, x.y, sum[b].x));
        sum[b].y = fmaf(w.x, x.y, fmaf(w.y, x.x, sum[b].y));
      }
    }
  }
  if (spectrum >= task.n_spectra) return;
#pragma unroll
  for (int b = 0; b < kAccumulators; ++b)
    if (first_beam + b < task.n_beam)
      task.power[(std::size_t(channel) * task.n_beam + first_beam + b) * task.n_spectra + spectrum] =
          sum[b].x * sum[b].x + sum[b].y * sum[b].y;
}

template <int kAccumulators>
bool launch(const AccumulatorTask& task, int n_thread, cudaStream_t stream) {
  cudaFuncAttributes attributes{};
  cuda_check(cudaFuncGetAttributes(&attributes, accumulate<kAccumulators>),
             "asking for a kernel's registers");
  if (n_thread > attributes.maxThreadsPerBlock) return false;
  const dim3 grid((task.n_spectra + n_thread - 1) / n_thread, task.n_channel,
                  (task.n_beam + kAccumulators - 1) / kAccumulators);
  accumulate<kAccumulators><<<grid, n_thread, 0, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching accumulators");
  return true;
}

}  // namespace

bool launch_accumulators(const AccumulatorTask& task, int n_accumulator, int n_thread, cudaStream_t stream) {
  switch (n_accumulator) {
    case 1:
      return launch<1>(task, n_thread, stream);
    case 2:
      return launch<2>(task, n_thread, stream);
    case 4:
      return launch<4>(task, n_thread, stream);
    case 8:
      return launch<8>(task, n_thread, stream);
    case 16:
      return launch<16>(task, n_thread, stream);
    case 32:
      return launch<32>(task, n_thread, stream);
    default:
      throw std::logic_error("accumulators: 1, 2, 4, 8, 16 or 32 beams for each thread");
  }
}

}  // namespace apsyn::bench
