// SPDX-License-Identifier: GPL-3.0-or-later
// What the kernels of long spectra are launched with.
#pragma once

#include "kernels/channelise/cuda/long/series.cuh"

namespace apsyn::f_stage {

/// Parts of long_factors, on the device.
struct LongFactors {
  const float* unit;
  const uint4* weights;
  const float2* turns;
};

struct LongLaunch {
  Task task;
  IntegerOutput out;
  Series series;
  LongFactors factors;
  int first_spectrum, n_spectra;  ///< of the task; the first is a multiple of 64
  cudaStream_t stream;
};

void launch_long(const LongLaunch& launch);

}  // namespace apsyn::f_stage
