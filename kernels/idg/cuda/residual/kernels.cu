// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/launch.cuh"
#include "kernels/idg/cuda/residual/kernels.cuh"

namespace apsyn::idg_cuda {
namespace {

constexpr unsigned kMaxBlocks = 132 * 32;

template <class T>
__global__ void __launch_bounds__(kThreads)
    subtract(const float2* data, const ComplexOf<T>* predicted, std::size_t n, float2* residual) {
  for (std::size_t i = this_thread(); i < n; i += std::size_t(gridDim.x) * kThreads) {
    const float2 from = data[i];
    const ComplexOf<T> model = predicted[i];
    residual[i] = {from.x + static_cast<float>(model.x), from.y + static_cast<float>(model.y)};
  }
}

__global__ void __launch_bounds__(kThreads)
    negate_model(const float* model, const double* correction, std::size_t n_pixels, std::size_t n_planes,
                 double* to) {
  for (std::size_t i = this_thread(); i < n_pixels; i += std::size_t(gridDim.x) * kThreads) {
    const double factor = -correction[i];
    for (std::size_t plane = 0; plane < n_planes; ++plane) {
      const double flux = static_cast<double>(model[plane * n_pixels + i]) * factor;
      to[plane * n_pixels + i] = isnan(flux) ? 0 : flux;
    }
  }
}

__global__ void __launch_bounds__(kThreads) fill_ones(float2* values, std::size_t n) {
  for (std::size_t i = this_thread(); i < n; i += std::size_t(gridDim.x) * kThreads) values[i] = {1, 0};
}

__global__ void __launch_bounds__(kThreads)
    finish_image(const double* sums, const double* correction, ResidualScale scale, std::size_t n_pixels,
                 int n_planes, float blank, float* to) {
  for (std::size_t i = this_thread(); i < n_pixels; i += std::size_t(gridDim.x) * kThreads) {
    const double factor = correction[i];
#pragma unroll
    for (int plane = 0; plane < int(kResidualPlanes); ++plane) {
      if (plane >= n_planes) break;
      const float value = static_cast<float>(sums[plane * n_pixels + i] * factor * scale.of_plane[plane]);
      to[plane * n_pixels + i] = isfinite(value) ? value : blank;
    }
  }
}

unsigned blocks_for(std::size_t n) {
  const std::size_t all = (n + kThreads - 1) / kThreads;
  return static_cast<unsigned>(all < kMaxBlocks ? all : kMaxBlocks);
}

}  // namespace

template <class T>
void launch_subtract(const float2* data, const ComplexOf<T>* predicted, std::size_t n, float2* residual,
                     cudaStream_t stream) {
  subtract<T><<<blocks_for(n), kThreads, 0, stream>>>(data, predicted, n, residual);
  launched("subtracting a model");
}

void launch_negate_model(const float* model, const double* correction, std::size_t n_pixels,
                         std::size_t n_planes, double* to, cudaStream_t stream) {
  negate_model<<<blocks_for(n_pixels), kThreads, 0, stream>>>(model, correction, n_pixels, n_planes, to);
  launched("taking a model");
}

void launch_fill_ones(float2* values, std::size_t n, cudaStream_t stream) {
  if (n == 0) return;
  fill_ones<<<blocks_for(n), kThreads, 0, stream>>>(values, n);
  launched("making visibilities of 1");
}

void launch_finish_image(const double* sums, const double* correction, const ResidualScale& scale,
                         std::size_t n_pixels, std::size_t n_planes, float blank, float* to,
                         cudaStream_t stream) {
  finish_image<<<blocks_for(n_pixels), kThreads, 0, stream>>>(sums, correction, scale, n_pixels,
                                                              static_cast<int>(n_planes), blank, to);
  launched("finishing an image");
}

template void launch_subtract<float>(const float2*, const float2*, std::size_t, float2*, cudaStream_t);
template void launch_subtract<double>(const float2*, const double2*, std::size_t, float2*, cudaStream_t);

}  // namespace apsyn::idg_cuda
