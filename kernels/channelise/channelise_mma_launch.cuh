// SPDX-License-Identifier: GPL-3.0-or-later
// The F stage's kernels on tensor cores of one number of taps, for all lengths.
#pragma once

#include "kernels/channelise/channelise_fused_launch.cuh"
#include "kernels/channelise/channelise_mma.cuh"

namespace apsyn::f_stage {

template <int kLength, int kTaps, bool kReal>
void launch_mma_shape(const FusedLaunch& launch) {
  using S = MmaShape<kLength, kTaps, kReal>;
  const auto kernel = launch.out.dither ? channelise_mma<kLength, kTaps, kReal, true>
                                        : channelise_mma<kLength, kTaps, kReal, false>;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::kSharedBytes),
             "asking for shared memory");
  const Task& task = launch.task;
  const int n_groups = (task.samples.n_input + S::kInputs - 1) / S::kInputs;
  const int n_blocks = (task.n_spectra + kBlockSpectra - 1) / kBlockSpectra;
  const int n_grid = n_blocks * n_groups * (kBlockSpectra / S::kSpan);
  kernel<<<dim3(n_grid, task.samples.n_chan), S::kThreads, S::kSharedBytes, launch.stream>>>(
      task, launch.out, static_cast<const uint4*>(launch.factors), n_groups);
  cuda_check(cudaGetLastError(), "launching the F stage on tensor cores");
}

template <int kTaps>
void launch_mma_length(const FusedLaunch& launch) {
  switch (launch.task.length) {
    case 64:
      return launch_mma_shape<64, kTaps, false>(launch);
    case 128:
      return launch.task.samples.real ? launch_mma_shape<128, kTaps, true>(launch)
                                      : launch_mma_shape<128, kTaps, false>(launch);
    default:
      return launch_mma_shape<256, kTaps, true>(launch);
  }
}

}  // namespace apsyn::f_stage
