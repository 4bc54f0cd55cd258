// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA side of projection.h, launched by projection_cuda.cpp.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace apsyn::projection {

/// A visibility, ready for gridding. Degridding has no use for its values.
struct alignas(16) DeviceSample {
  float4 xx_xy, yx_yy;
  std::int32_t u, v;         ///< first cell of the kernel, from the grid's centre
  std::uint32_t weights;     ///< offset of its N x N weights, in units of them
  std::uint32_t visibility;  ///< row * n_chan + chan
};

struct PrepareTask {
  const double* uvw_m;       ///< [row][3]
  const double* wavenumber;  ///< [chan]
  const float4* data;        ///< [row][chan][2], or null
  const float4* weight;      ///< [row][chan]
  std::uint32_t n_rows, n_chan, size, interval;
  double cells_per_lambda;
  double max_w_lambda, planes_per_lambda;  ///< W-projection
  std::uint32_t n_tables;                  ///< AW-projection: intervals of a chunk; 0 = W-projection
  DeviceSample* samples;  ///< [row][chan], odd rows backwards, so that neighbours lie close together
};
void launch_prepare(const PrepareTask& task, cudaStream_t stream);

/// Image-domain functions of n tables, shifted by all offsets: transforms of them are the weights.
struct ScreenTask {
  const float* taper;     ///< [p] order of transforms
  const double* n_1;      ///< [y][x]
  const float2* ramps;    ///< [offset][p]
  const float2* aterms;   ///< [station][y][x] or null
  const uint2* stations;  ///< [table] or null
  const double* w;        ///< [table] wavelengths
  std::uint32_t size, n_tables;
  float2* out;  ///< [table][offset v][offset u][y][x]
};
void launch_screens(const ScreenTask& task, cudaStream_t stream);

struct GridTask {
  const DeviceSample* samples;
  const uint2* parts;     ///< [part] first sample, and one past the last
  const float2* weights;  ///< [table][offset v][offset u][v][u]
  std::uint32_t n_parts, size, n_grid;
  float4* grid;  ///< [v][u][2], cell (0, 0) in the middle
};
void launch_grid(const GridTask& task, cudaStream_t stream);
/// Adds conj(weight) times cell to data [visibility][2].
void launch_degrid(const GridTask& task, float4* data, cudaStream_t stream);

}  // namespace apsyn::projection
