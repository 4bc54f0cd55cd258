// SPDX-License-Identifier: GPL-3.0-or-later
// Kernels of cuda/apertures.cuh.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace apsyn::epic_cuda {

struct ApertureTask {
  const float2* heard = nullptr;
  int n_kind = 0, n_pixel = 0;
  // add_autos()
  int n_channel = 0;
  const double* autos = nullptr;
  double sign = 1;
  std::size_t n_stride = 0;
  double* sums = nullptr;
  // scale()
  int n_image = 0, n_average = 1, n_plane = 0;
  bool keep_autos = false;
  double least = 0;                   ///< kMinApertureResponse
  const double* pairs = nullptr;      ///< [channel][kind][kind]
  const double* antennas = nullptr;   ///< [channel][kind]
  const double* all_pairs = nullptr;  ///< [image channel] of antennas of all kinds
  const std::uint32_t* index = nullptr;
  std::size_t plane_size = 0;
  float* planes = nullptr;
};
void launch_aperture_autos(const ApertureTask& task, cudaStream_t stream);
void launch_aperture_scale(const ApertureTask& task, cudaStream_t stream);

}  // namespace apsyn::epic_cuda
