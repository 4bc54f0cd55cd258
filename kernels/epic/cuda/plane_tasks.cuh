// SPDX-License-Identifier: GPL-3.0-or-later
// From sums over pixels to images, and autocorrelations to be taken off.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace apsyn::epic_cuda {

struct AutosTask {
  const double *powers = nullptr, *gains = nullptr;  ///< [channel][ant][4]
  int n_image = 0, n_average = 1, n_ant = 0;
  const std::uint32_t* kinds = nullptr;  ///< [ant] below n_kind; null = all are of one kind
  int n_kind = 1;
  double* autos = nullptr;  ///< [image channel][kind][4]
};
void launch_autos(const AutosTask& task, cudaStream_t stream);

struct PlaneTask {
  const double* sums = nullptr;   ///< [image channel][n_stride][4]
  const double* autos = nullptr;  ///< [image channel][4] or null
  double sign = 1;
  const double* scales = nullptr;        ///< [image channel]
  const std::uint32_t* index = nullptr;  ///< [pixel] of the image
  int n_image = 0, n_pixel = 0, n_plane = 0;
  std::size_t n_stride = 0, plane_size = 0;
  int value_of[4] = {};     ///< [plane] among the four sums
  bool total = false;       ///< the sum is that of XX and YY, halved, and so are autocorrelations
  float* planes = nullptr;  ///< NaN without sky
};
#ifdef __CUDACC__
/// A value of a plane from its sum.
__device__ __forceinline__ float plane_value(const PlaneTask& task, std::size_t image, int value,
                                             double sum) {
  if (task.autos != nullptr) {
    const double* autos = task.autos + image * 4;
    sum += task.sign * (task.total ? (autos[0] + autos[1]) / 2 : autos[value]);
  }
  return static_cast<float>(sum * task.scales[image]);
}
#endif
void launch_planes(const PlaneTask& task, cudaStream_t stream);
/// sums [n][4]: XX = (XX + YY) / 2.
void launch_total(double* sums, std::size_t n, cudaStream_t stream);
/// Regions of planes [n_plane][plane_size], lists of pixels one after the other.
struct RegionTask {
  const float* planes = nullptr;
  std::size_t plane_size = 0;
  int n_plane = 0, n_region = 0;
  const std::uint32_t* pixels = nullptr;
  const std::uint32_t* ends = nullptr;  ///< [region] of its list
  double* regions = nullptr;            ///< [plane][region][n, mean, largest], as EpicRegion
};
void launch_regions(const RegionTask& task, cudaStream_t stream);
/// n floats = NaN.
void launch_clear_planes(float* planes, std::size_t n, cudaStream_t stream);

}  // namespace apsyn::epic_cuda
