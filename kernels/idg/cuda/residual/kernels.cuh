// SPDX-License-Identifier: GPL-3.0-or-later
// What a residual imager does once for each value and once for each pixel. For device and host code with
// CUDA.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/idg/cuda/complex.cuh"

namespace apsyn::idg_cuda {

/// residual = data + the prediction of the negative model, [n].
template <class T>
void launch_subtract(const float2* data, const ComplexOf<T>* predicted, std::size_t n, float2* residual,
                     cudaStream_t stream);

/// values [n] = 1.
void launch_fill_ones(float2* values, std::size_t n, cudaStream_t stream);

/// to [plane][pixel] = -model times `correction` [pixel]; 0 where either is no number.
void launch_negate_model(const float* model, const double* correction, std::size_t n_pixels,
                         std::size_t n_planes, double* to, cudaStream_t stream);

/// Planes that one launch makes.
constexpr std::size_t kResidualPlanes = 4;
struct ResidualScale {
  double of_plane[kResidualPlanes];
};
/// to [plane][pixel] = sums times `correction` [pixel] and the plane's scale; `blank` where that is no
/// number.
void launch_finish_image(const double* sums, const double* correction, const ResidualScale& scale,
                         std::size_t n_pixels, std::size_t n_planes, float blank, float* to,
                         cudaStream_t stream);

}  // namespace apsyn::idg_cuda
