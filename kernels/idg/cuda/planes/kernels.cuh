// SPDX-License-Identifier: GPL-3.0-or-later
// The kernels of a GPU's gridder of planes (planes.h), which the host gives places by tiles of cells
// (cpu/planes/spread_places.h).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace apsyn::idg_cuda {

/// Cells of a tile's side.
constexpr int tile_side_log2 = 3, tile_side = 1 << tile_side_log2;

/// apsyn::Place.
struct DevicePlace {
  std::uint32_t cell;  ///< of the first tap, and pairs of terms: v << 19 | pairs << 16 | u
  float q_u, q_v, t;
};

/// The stored cells of all terms and planes, float4 [plane][pair][v][u] of the even and the odd term: those
/// of whole tiles, from v = 0 and u = -(n_u / 2) less `origin` on. Cells repeat after n_u and n_v.
struct PlaneCells {
  float4* data;
  int n_planes, n_pairs;
  int n_tiles_u, n_tiles_v;
  int n_u, n_v, origin;
};

struct SpreadTask {
  PlaneCells cells;
  const DevicePlace* place;         ///< [place] by the tiles of their first taps
  const float2* value;              ///< [place][plane]
  const std::uint32_t* tile_begin;  ///< [tile + 1], rows of tiles after each other
  const float* coefficients;        ///< [power][tap] of the kernel (spread_kernel.h)
  int width, stride, degree;        ///< of it
  bool adds;                        ///< to what the cells hold; otherwise they are overwritten
};

/// Adds places to the cells of all planes. Each cell is summed in an order that is the places' alone.
void launch_spread(const SpreadTask& task, cudaStream_t stream);

/// uv [plane][pair][v][u], n_v x n_u, of which one transform makes a pair of terms:
/// (E + O)(u, v) + conj((E - O)(-u, -v)).
void launch_fold(const PlaneCells& cells, float2* uv, cudaStream_t stream);

struct PixelTask {
  const float2* transform;  ///< [plane][pair][n_v][n_u]
  /// [term][y][|x - n_x / 2|] what a pixel takes of a pair's real part (even) and imaginary part (odd).
  const float* screen;
  float* image;  ///< [plane][y][x]
  int n_planes, n_pairs, n_u, n_v, n_x, n_y;
};
void launch_pixels(const PixelTask& task, cudaStream_t stream);

}  // namespace apsyn::idg_cuda
