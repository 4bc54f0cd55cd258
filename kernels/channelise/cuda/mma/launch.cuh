// SPDX-License-Identifier: GPL-3.0-or-later
// The F stage's kernels on tensor cores of one number of taps, for all lengths.
#pragma once

#include <algorithm>

#include "kernels/channelise/cuda/fused/launch.cuh"
#include "kernels/channelise/cuda/mma/mma.cuh"

namespace apsyn::f_stage {

template <class S>
void launch_mma_shape(const FusedLaunch& launch) {
  const auto kernel = launch.out.dither ? channelise_mma<S, true> : channelise_mma<S, false>;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::kSharedBytes),
             "asking for shared memory");
  const Task& task = launch.task;
  const int n_groups = (task.samples.n_input + S::kInputs - 1) / S::kInputs;
  const int n_blocks = (task.n_spectra + kBlockSpectra - 1) / kBlockSpectra;
  const int items_of_chan = n_blocks * n_groups * (kBlockSpectra / S::kSpan);
  const int n_items = items_of_chan * task.samples.n_chan;
  kernel<<<S::kStays ? std::min(n_items, n_multiprocessors()) : n_items, S::kThreads, S::kSharedBytes,
           launch.stream>>>(task, launch.out, static_cast<const uint4*>(launch.factors), n_groups,
                            items_of_chan);
  cuda_check(cudaGetLastError(), "launching the F stage on tensor cores");
}

template <int kLength, int kTaps, bool kReal>
void launch_mma_runs(const FusedLaunch& launch) {
  using Whole = MmaShape<kLength, kTaps, kReal, 4>;
  if (shared_bytes_of_block() >= Whole::kSharedBytes)
    launch_mma_shape<Whole>(launch);
  else
    launch_mma_shape<MmaShape<kLength, kTaps, kReal, 2>>(launch);
}

template <int kTaps>
void launch_mma_length(const FusedLaunch& launch) {
  switch (launch.task.length) {
    case 64:
      return launch_mma_runs<64, kTaps, false>(launch);
    case 128:
      return launch.task.samples.real ? launch_mma_runs<128, kTaps, true>(launch)
                                      : launch_mma_runs<128, kTaps, false>(launch);
    default:
      return launch_mma_runs<256, kTaps, true>(launch);
  }
}

}  // namespace apsyn::f_stage
