// SPDX-License-Identifier: GPL-3.0-or-later
// How a layer's grid lies in device or managed memory: [plane][tile v][tile u][v][u] by tiles of 32 x 32
// cells, filled up at the edges; cell k of the uv plane at index k mod n. What a subgrid touches lies in few
// pages then (Veenboer and Romein 2020, Fig. 8). Grids that never leave the device and are transformed in
// place lie [plane][v][u].
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace apsyn {

constexpr int kGridTile = 32;

__host__ __device__ inline std::size_t grid_tiles(std::size_t n) {
  return (n + kGridTile - 1) / kGridTile;
}
/// Cells of a plane.
__host__ __device__ inline std::size_t tiled_cells(std::size_t n_u, std::size_t n_v) {
  return grid_tiles(n_u) * grid_tiles(n_v) * (kGridTile * kGridTile);
}

/// First cell of the tile of cell (v, u).
__host__ __device__ inline std::size_t tile_cells(std::size_t n_u, int v, int u) {
  return (std::size_t(v / kGridTile) * grid_tiles(n_u) + u / kGridTile) * (kGridTile * kGridTile);
}
__host__ __device__ inline std::size_t tiled_cell(std::size_t n_u, int v, int u) {
  return tile_cells(n_u, v, u) + v % kGridTile * kGridTile + u % kGridTile;
}

/// One plane of a layer: its cells in rows, or in tiles.
struct GridShape {
  int n_u, n_v;
  bool rows;
  __host__ __device__ std::size_t cells() const {
    return rows ? std::size_t(n_u) * n_v : tiled_cells(n_u, n_v);
  }
  /// From the cell at v to the one at v + 1 of the same tile.
  __host__ __device__ int pitch() const { return rows ? n_u : kGridTile; }
  __host__ __device__ std::size_t at(int v, int u) const {
    return rows ? std::size_t(v) * n_u + u : tiled_cell(n_u, v, u);
  }
};

}  // namespace apsyn
