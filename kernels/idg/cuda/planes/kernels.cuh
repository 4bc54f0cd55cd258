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

/// Rows that the device keeps, of which it makes the places itself: of every channel, as nodes would save
/// less than they cost.
struct LocateTask {
  const double* uvw_m;       ///< [row][u, v, w]
  const double* path_m;      ///< [row], or null
  const double* wavenumber;  ///< [chan]
  const float2* data;        ///< [row][chan][data plane]
  const float* weight;       ///< [row][chan][weight plane], for one or all data planes
  std::uint32_t n_rows, n_chan;
  int n_data_planes, n_weight_planes, n_planes;  ///< the last plane may be the PSF's

  // apsyn::PlaceFrame, and the limits of BlockPlaces::survey().
  double scale_u, scale_v, n_u, n_v, origin_u, origin_v, half_width, w_scale, turns_of_w;
  float max_t[6];
  double max_w_lambda, farthest_cells;

  int n_tiles_u, n_tiles_v;
  DevicePlace* place;  ///< [row][chan]
  float2* value;       ///< [row][chan][plane]
  std::uint64_t* key;  ///< [row][chan] tile of its first tap; behind the last tile without a weight
  int* refused;        ///< becomes 1 for coordinates that cannot be
};
void launch_locate(const LocateTask& task, cudaStream_t stream);

/// tile_begin [tile + 1]: where the sorted keys of each tile begin.
void launch_tile_begins(const std::uint64_t* key, std::uint32_t n, std::uint32_t n_tiles,
                        std::uint32_t* tile_begin, cudaStream_t stream);

/// sums [plane][part] += the weights of n visibilities, in an order of their own.
constexpr int weight_sum_parts = 64;
void launch_sum_weights(const float* weight, std::size_t n, int n_planes, double* sums, cudaStream_t stream);

struct SpreadTask {
  PlaneCells cells;
  const DevicePlace* place;         ///< [place]
  const float2* value;              ///< [place][plane]
  const std::uint32_t* order;       ///< places by the tiles of their first taps; null: they are in order
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
