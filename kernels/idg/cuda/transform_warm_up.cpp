// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/transform_warm_up.h"

#include "kernels/common/cuda/warm_fft.h"
#include "kernels/idg/cuda/layers/layer_columns.cuh"
#include "kernels/idg/plan/cost.h"

namespace apsyn {

void warm_up_transforms(const Device& device, const ImageGeometry& image, const IdgSettings& settings) {
  if (device.kind != Device::Kind::cuda || cudaSetDevice(device.index) != cudaSuccess) return;
  IdgPlan plan;
  plan.settings = settings;
  const auto n_u = static_cast<int>(uv_grid_cells(image.n_x, settings)),
             n_v = static_cast<int>(uv_grid_cells(image.n_y, settings));
  if (!is_fast_on_gpu(plan)) return warm_up_fft({n_v, n_u}, 1, CUFFT_Z2Z);
  constexpr int kRows = 2048;
  if (idg_cuda::has_columns(n_u, n_v, static_cast<int>(image.n_y))) warm_up_fft({n_u, 0}, kRows, CUFFT_C2C);
  warm_up_fft({n_v, n_u}, 1, CUFFT_C2C);
}

}  // namespace apsyn
