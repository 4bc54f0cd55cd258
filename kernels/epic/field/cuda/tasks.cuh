// SPDX-License-Identifier: GPL-3.0-or-later
// Kernels of images of the field (EpicPlan::field), one spectrum at a time.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/epic/cuda/tile_product.cuh"

namespace apsyn::epic_cuda {

constexpr int kFieldTaps = 8;  ///< FftFinish::kTaps

/// fields [channel][pol][pixel] = sum_a w_a(s) E_a, w as in tile_product.cuh; sums in float64.
struct FieldSumTask {
  WeightTask sky;
  const float2* samples = nullptr;  ///< [channel][ant][pol]
  int n_pol = 1;
  float2* fields = nullptr;
};
void launch_field_sums(const FieldSumTask& task, cudaStream_t stream);

struct FieldPixel {
  double unit[3] = {};                ///< east, north, up
  std::uint32_t column = 0, row = 0;  ///< of the transform, or the first tap
  float factor = 0;                   ///< 1 / response
};

/// fields [channel][pol][pixel] from transforms [channel][pol][row][column].
struct FieldPixelTask {
  const float2* planes = nullptr;
  int n_channel = 0, n_pol = 1, length_x = 0, length_y = 0;
  const FieldPixel* pixels = nullptr;
  const float* taps = nullptr;  ///< [pixel][x taps, y taps]; null = the transform's pixels are the image's
  int n_pixel = 0;
  const double* origin = nullptr;  ///< [channel][3], FieldGrid::origin()
  float2* fields = nullptr;
};
void launch_field_pixels(const FieldPixelTask& task, cudaStream_t stream);

/// Planes [channel][pol, re and im][pixel of the image], NaN without sky.
struct FieldPlaneTask {
  const float2* fields = nullptr;        ///< [channel][pol][pixel]
  const double* scales = nullptr;        ///< [channel] 1 / n^2
  const std::uint32_t* index = nullptr;  ///< [pixel] of the image
  int n_channel = 0, n_pol = 1, n_pixel = 0;
  std::size_t plane_size = 0;
  float* planes = nullptr;
};
void launch_field_planes(const FieldPlaneTask& task, cudaStream_t stream);

}  // namespace apsyn::epic_cuda
