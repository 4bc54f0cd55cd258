// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cuda_runtime.h>

#include "kernels/epic/cuda/tile_product.cuh"

namespace apsyn::epic_cuda {

/// exp(-2 pi i hz (u . r - d)) of a pixel and an antenna, right to float32.
__device__ __forceinline__ float2 weight_of(const WeightTask& task, const double* unit, double hz, int ant) {
  const double* seconds = task.seconds + ant;
  const double tau = unit[0] * seconds[0] + unit[1] * seconds[task.n_ant] +
                     (unit[2] * seconds[2 * task.n_ant] - seconds[3 * task.n_ant]);
  const double turns = -hz * tau;
  float2 weight;
  sincospif(static_cast<float>(2 * (turns - rint(turns))), &weight.y, &weight.x);
  return weight;
}

}  // namespace apsyn::epic_cuda
