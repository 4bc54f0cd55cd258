// SPDX-License-Identifier: GPL-3.0-or-later
// The pixels of corr/cuda/outliers.cuh, made on the host. For host code with CUDA only.
#pragma once

#include <vector>

#include "kernels/epic/corr/cuda/outliers.cuh"
#include "kernels/epic/sky_pixels.h"

namespace apsyn::epic_cuda {

std::vector<OutlierRun> plan_outlier_runs(const EpicPlan& plan, const EpicGeometry& geometry,
                                          const SkyPixels& sky, double n_middle);

}  // namespace apsyn::epic_cuda
