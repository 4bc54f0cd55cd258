// SPDX-License-Identifier: GPL-3.0-or-later
// The fused kernels of one kind of input, for all lengths and taps.
#pragma once

#include "kernels/channelise/cuda/fused/fused.cuh"
#include "kernels/common/cuda/check.h"

namespace apsyn::f_stage {

struct FusedLaunch {
  Task task;
  IntegerOutput out;
  const void* factors;
  cudaStream_t stream;
};

/// Of the current device: shared memory that a block may have, and multiprocessors.
int shared_bytes_of_block();
int n_multiprocessors();
/// Whether the current device makes this length on tensor cores (cuda/mma/mma.cuh).
bool has_mma(bool real, int length);
/// Without taps and with four.
void launch_mma_1(const FusedLaunch& launch);
void launch_mma_4(const FusedLaunch& launch);

template <int kLength, int kTaps, bool kReal>
void launch_one(const FusedLaunch& launch) {
  using S = Shape<kLength, kReal>;
  const auto kernel = channelise_fused<kLength, kTaps, kReal>;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::kSharedBytes),
             "asking for shared memory");
  const Task& task = launch.task;
  const SampleWindow& window = task.samples;
  const int chunk_bytes = window.format == SampleFormat::int8 ? 8 : 4;
  const bool aligned = window.time_bytes % chunk_bytes == 0 && window.chan_bytes % chunk_bytes == 0 &&
                       reinterpret_cast<std::uintptr_t>(window.data) % chunk_bytes == 0;
  const int n_groups = (window.n_input + S::kInputs - 1) / S::kInputs;
  const int n_blocks = (task.n_spectra + kBlockSpectra - 1) / kBlockSpectra;
  const int n_grid = n_blocks * n_groups * (kBlockSpectra / S::kSpan);
  kernel<<<dim3(n_grid, window.n_chan), S::kThreads, S::kSharedBytes, launch.stream>>>(
      task, launch.out, static_cast<const float2*>(launch.factors), n_groups, aligned);
  cuda_check(cudaGetLastError(), "launching the fused F stage");
}

template <int kTaps, bool kReal>
void launch_length(const FusedLaunch& launch) {
  if (has_mma(kReal, launch.task.length)) return kTaps == 4 ? launch_mma_4(launch) : launch_mma_1(launch);
  switch (launch.task.length) {
    case 16:
      return launch_one<16, kTaps, kReal>(launch);
    case 32:
      return launch_one<32, kTaps, kReal>(launch);
    case 64:
      if constexpr (kReal) return launch_one<64, kTaps, kReal>(launch);
      return;  // on tensor cores
    default:
      if constexpr (!kReal) return launch_one<128, kTaps, kReal>(launch);
      return;
  }
}

void launch_fused_complex_1(const FusedLaunch& launch);
void launch_fused_complex_4(const FusedLaunch& launch);
void launch_fused_real_1(const FusedLaunch& launch);
void launch_fused_real_4(const FusedLaunch& launch);

}  // namespace apsyn::f_stage
