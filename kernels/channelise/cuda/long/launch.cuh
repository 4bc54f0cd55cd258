// SPDX-License-Identifier: GPL-3.0-or-later
// The F stage's kernels of long spectra of one length, for complex and for real samples.
#pragma once

#include "kernels/channelise/cuda/long/long.cuh"
#include "kernels/common/cuda/check.h"

namespace apsyn::f_stage {

template <class S, int kWords>
void launch_long_words(const LongLaunch& launch) {
  const auto kernel = channelise_long<S, kWords>;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::kSharedBytes),
             "asking for shared memory");
  const int rows = (launch.n_spectra + kBlockSpectra - 1) / kBlockSpectra;
  const int n_blocks = rows * launch.series.n_streams * (kBlockSpectra / S::kSpan);
  kernel<<<dim3(n_blocks, launch.series.n_chan), S::kThreads, S::kSharedBytes, launch.stream>>>(
      launch.task, launch.out, launch.series, launch.factors, launch.first_spectrum);
  cuda_check(cudaGetLastError(), "launching the F stage of long spectra");
}

template <class S>
void launch_long_shape(const LongLaunch& launch) {
  switch (tap_words(launch.task.n_taps)) {
    case 1:
      return launch_long_words<S, 1>(launch);
    case 2:
      return launch_long_words<S, 2>(launch);
    default:
      return launch_long_words<S, 4>(launch);
  }
}

template <int kLength, bool kReal>
void launch_long_room(const LongLaunch& launch) {
  using Whole = LongShape<kLength, kReal>;
  if constexpr (Whole::kHasSmall) {
    cudaFuncAttributes code;
    cuda_check(cudaFuncGetAttributes(&code, channelise_long<Whole, 1>), "asking for a kernel");
    if (!has_whole_tiles(10 * code.ptxVersion))
      return launch_long_shape<LongShape<kLength, kReal, true>>(launch);
  }
  launch_long_shape<Whole>(launch);
}

template <int kLength>
void launch_long_length(const LongLaunch& launch) {
  if (launch.task.samples.real)
    launch_long_room<kLength, true>(launch);
  else
    launch_long_room<kLength, false>(launch);
}

void launch_long_256(const LongLaunch& launch);
void launch_long_512(const LongLaunch& launch);
void launch_long_1024(const LongLaunch& launch);
void launch_long_2048(const LongLaunch& launch);
void launch_long_4096(const LongLaunch& launch);
void launch_long_8192(const LongLaunch& launch);
void launch_long_16384(const LongLaunch& launch);

}  // namespace apsyn::f_stage
