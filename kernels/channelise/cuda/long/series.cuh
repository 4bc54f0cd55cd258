// SPDX-License-Identifier: GPL-3.0-or-later
// Samples as the F stage of long spectra reads them: each stream's by itself, and those that the taps of a
// filterbank weight together in one word.
//
// Time counts from the first sample that any spectrum needs. A series is [group][sample of L][re 4 | im 4]:
// group g holds the samples 4 g L + n, (4 g + 1) L + n .. of both components, int8, 8 bytes for each n.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/channelise/cuda/kernels.cuh"

namespace apsyn::f_stage {

struct Series {
  uint2* data;         ///< [chan][stream][group][sample of L]
  std::int64_t first;  ///< sample of the window at which time starts
  std::int64_t end;    ///< of the window, behind the last that is needed; 0 from here on
  int n_groups;
  int first_chan, n_chan;
  int first_stream, n_streams;
};

/// Fills in the series of a task's samples.
void launch_arrange(const Task& task, const Series& series, cudaStream_t stream);

}  // namespace apsyn::f_stage
