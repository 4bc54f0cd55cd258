// SPDX-License-Identifier: GPL-3.0-or-later
// Kernels of fft/cuda/off_grid_pairs.cuh.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/epic/cuda/samples.cuh"
#include "kernels/epic/cuda/tile_product.cuh"

namespace apsyn::epic_fft {

struct OffGridTask {
  int n_channel = 0, n_off = 0, n_ant = 0, n_pol = 1;
  const std::uint32_t* off = nullptr;   ///< [off] antenna
  const std::uint32_t* rank = nullptr;  ///< [ant] its place in `off`, or n_off
  const double2* gains = nullptr;       ///< g [channel][input]
  double2* sums = nullptr;     ///< [channel][off][ant][pol of off][pol of ant] sum of E_off E_ant*, without g
  float2* matrices = nullptr;  ///< [channel][off][ant][XX, YY, Re XY, Im XY] as PairProducts; 0 of pairs that
                               ///< are imaged elsewhere
  double* powers = nullptr;    ///< [channel][off][XX, YY, Re XY, Im XY] of an antenna with itself
};

/// sums += those of the samples.
void launch_off_grid_sums(const OffGridTask& task, const epic_cuda::Samples& samples, cudaStream_t stream);
/// sums -> matrices and powers.
void launch_off_grid_matrices(const OffGridTask& task, cudaStream_t stream);

struct OffGridImageTask {
  OffGridTask pairs;
  epic_cuda::WeightTask sky;  ///< of all channels
  int n_image = 0, n_average = 1, n_plane = 0;
  bool autos = false;                    ///< powers are added, too
  int plane_of[4] = {-1, -1, -1, -1};    ///< of XX, YY, Re XY, Im XY; -1 = none
  const std::uint32_t* index = nullptr;  ///< [pixel] of the image
  const double* scale = nullptr;         ///< [image]
  std::size_t plane_size = 0;
  float* planes = nullptr;  ///< [image][plane][pixel of the image] +=
};
void launch_off_grid_images(const OffGridImageTask& task, cudaStream_t stream);

}  // namespace apsyn::epic_fft
