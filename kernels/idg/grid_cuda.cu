// SPDX-License-Identifier: GPL-3.0-or-later
// Subgrids onto the grids, and layers into the image.
#include "kernels/common/cuda_check.h"
#include "kernels/idg/idg_kernels.cuh"

namespace apsyn::idg_cuda {
namespace {

/// A block owns 32 x 32 cells of one layer and plane, a thread four rows of one column.
template <class T>
__global__ void __launch_bounds__(256) add(AddTask<T> task) {
  const GridTile tile = task.tiles[blockIdx.x];
  const int plane = blockIdx.y, side = task.side, half = side / 2;
  const int u = tile.u + threadIdx.x % kGridTile, first_v = tile.v + threadIdx.x / kGridTile * 4;
  if (u >= task.n_u) return;
  ComplexOf<T>* grid =
      task.grids + (std::size_t(tile.layer) * task.n_planes + plane) * task.n_v * std::size_t(task.n_u);
  ComplexOf<T> sum[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if (first_v + i < task.n_v) sum[i] = grid[std::size_t(first_v + i) * task.n_u + u];
  for (std::uint32_t e = 0; e < tile.n_entries; ++e) {
    const std::uint32_t entry = task.entries[tile.first_entry + e];
    const std::uint32_t own = entry / task.n_outputs, output = entry % task.n_outputs;
    const Placement start = task.placements[own];
    int su = u - start.start_u;
    if (su < 0) su += task.n_u;
    if (su >= side) continue;
    const ComplexOf<T>* subgrid =
        task.subgrids +
        ((std::size_t(own) * task.n_planes + plane) * task.n_outputs + output) * std::size_t(side) * side;
    const ComplexOf<T> phase_u = task.uv_phase[su];
    const int column = su < half ? su + half : su - half;  // FFT order
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int sv = first_v + i - start.start_v;
      if (sv < 0) sv += task.n_v;
      if (sv >= side || first_v + i >= task.n_v) continue;
      const ComplexOf<T> phase_v = task.uv_phase[sv];
      const T pr = phase_v.x * phase_u.x - phase_v.y * phase_u.y;
      const T pi = phase_v.x * phase_u.y + phase_v.y * phase_u.x;
      const ComplexOf<T> cell = subgrid[(sv < half ? sv + half : sv - half) * side + column];
      sum[i].x += cell.x * pr - cell.y * pi;
      sum[i].y += cell.x * pi + cell.y * pr;
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if (first_v + i < task.n_v) grid[std::size_t(first_v + i) * task.n_u + u] = sum[i];
}

template <class T>
__global__ void widen(const ComplexOf<T>* grid, double2* work, std::size_t n) {
  const std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) work[i] = make_double2(grid[i].x, grid[i].y);
}

__global__ void screen(ScreenTask task) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= task.n_x) return;
  // Pixel x is at l = (n_x/2 - x) cell, which the transform along u puts at index (n_x/2 - x) mod n_u.
  const double l = (task.n_x / 2 - x) * task.cell_rad, m = (y - task.n_y / 2) * task.cell_rad;
  const double r2 = l * l + m * m;
  if (r2 >= 1) return;  // below the horizon: the image is NaN there in the end
  const double n_minus_one = -r2 / (1 + sqrt(1 - r2));
  const int u = (task.n_x / 2 - x + task.n_u) % task.n_u, v = (y - task.n_y / 2 + task.n_v) % task.n_v;
  double sine, cosine;
  const double turns = -task.w_lambda * (n_minus_one + task.n_shift);
  sincospi(2 * (turns - rint(turns)), &sine, &cosine);
  const double2 value = task.work[std::size_t(v) * task.n_u + u];
  task.image[std::size_t(y) * task.n_x + x] += value.x * cosine - value.y * sine;
}

}  // namespace

template <class T>
void launch_add(const AddTask<T>& task, cudaStream_t stream) {
  add<<<dim3(task.n_tiles, task.n_planes), 256, 0, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the adder");
}

template <class T>
void launch_widen(const ComplexOf<T>* grid, double2* work, std::size_t n, cudaStream_t stream) {
  widen<T><<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(grid, work, n);
  cuda_check(cudaGetLastError(), "launching the conversion of a grid");
}

void launch_screen(const ScreenTask& task, cudaStream_t stream) {
  screen<<<dim3((task.n_x + 127) / 128, task.n_y), 128, 0, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the w screen");
}

template void launch_add(const AddTask<float>&, cudaStream_t);
template void launch_add(const AddTask<double>&, cudaStream_t);
template void launch_widen<float>(const float2*, double2*, std::size_t, cudaStream_t);
template void launch_widen<double>(const double2*, double2*, std::size_t, cudaStream_t);

}  // namespace apsyn::idg_cuda
