// SPDX-License-Identifier: GPL-3.0-or-later
// What is done to the cells before their transforms, and to these behind them.
#include "kernels/common/cuda/launch.cuh"
#include "kernels/idg/cuda/planes/kernels.cuh"

namespace apsyn::idg_cuda {
namespace {

/// The terms' sums over all stored cells that stand for (u, v).
__device__ float4 cell_of(const float4* cells, const PlaneCells& shape, int u, int v) {
  const int n_columns = shape.n_tiles_u * tile_side, n_rows = shape.n_tiles_v * tile_side;
  float4 sum{0, 0, 0, 0};
  for (int row = (v + shape.origin) % shape.n_v; row < n_rows; row += shape.n_v)
    for (int column = (u + shape.n_u / 2 + shape.origin) % shape.n_u; column < n_columns;
         column += shape.n_u) {
      const float4 cell = cells[std::size_t(row) * n_columns + column];
      sum.x += cell.x, sum.y += cell.y, sum.z += cell.z, sum.w += cell.w;
    }
  return sum;
}

__global__ void __launch_bounds__(kThreads) fold(PlaneCells cells, float2* uv, std::size_t n) {
  const std::size_t at = this_thread();
  if (at >= n) return;
  const int u = int(at % cells.n_u), v = int(at / cells.n_u % cells.n_v);
  const std::size_t plane = at / cells.n_u / cells.n_v;  // and pair
  const float4* own =
      cells.data + plane * cells.n_tiles_u * tile_side * (std::size_t(cells.n_tiles_v) * tile_side);
  const float4 there = cell_of(own, cells, u, v),
               opposite = cell_of(own, cells, u == 0 ? 0 : cells.n_u - u, v == 0 ? 0 : cells.n_v - v);
  uv[at] = {there.x + there.z + (opposite.x - opposite.z), there.y + there.w - (opposite.y - opposite.w)};
}

__global__ void __launch_bounds__(kThreads) make_pixels(PixelTask task, std::size_t n) {
  const std::size_t at = this_thread();
  if (at >= n) return;
  const int x = int(at % task.n_x), y = int(at / task.n_x % task.n_y);
  const std::size_t plane = at / task.n_x / task.n_y;
  const int middle = task.n_x / 2, n_screen_x = middle + 1, from_middle = abs(x - middle);
  // Pixel x is at l = (n_x/2 - x) cell, pixel y at m = (y - n_y/2) cell.
  const int u = (middle - x + task.n_u) % task.n_u, v = (y - task.n_y / 2 + task.n_v) % task.n_v;
  float sum = 0;
  for (int pair = 0; pair < task.n_pairs; ++pair) {
    const float2 value =
        task.transform[((plane * task.n_pairs + pair) * task.n_v + v) * std::size_t(task.n_u) + u];
    const std::size_t even = (std::size_t(2) * pair * task.n_y + y) * n_screen_x + from_middle,
                      odd = even + std::size_t(task.n_y) * n_screen_x;
    sum = fmaf(task.screen[even], value.x, fmaf(task.screen[odd], value.y, sum));
  }
  task.image[at] = sum;
}

}  // namespace

void launch_fold(const PlaneCells& cells, float2* uv, cudaStream_t stream) {
  const std::size_t n = std::size_t(cells.n_planes) * cells.n_pairs * cells.n_v * cells.n_u;
  fold<<<blocks_of(n), kThreads, 0, stream>>>(cells, uv, n);
  launched("folding cells");
}

void launch_pixels(const PixelTask& task, cudaStream_t stream) {
  const std::size_t n = std::size_t(task.n_planes) * task.n_y * task.n_x;
  make_pixels<<<blocks_of(n), kThreads, 0, stream>>>(task, n);
  launched("making pixels");
}

}  // namespace apsyn::idg_cuda
