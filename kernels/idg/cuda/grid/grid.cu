// SPDX-License-Identifier: GPL-3.0-or-later
// Subgrids onto the grids, and layers into the image.
#include "kernels/common/cuda/check.h"
#include "kernels/idg/cuda/grid/kernels.cuh"

namespace apsyn::idg_cuda {
namespace {

constexpr int kAddThreads = 256, kRowsEach = kGridTile * kGridTile / kAddThreads;
/// Number of a tile's entries that a block looks up together.
constexpr int kEntriesAtOnce = 64;
constexpr int kMaxSide = 512;
/// Subgrids whose cells a thread waits for together.
constexpr int kSubgridsAtOnce = 2;

/// A block owns 32 x 32 cells of one layer and plane, a thread four rows of one column.
template <class T, bool kFinished>
__global__ void __launch_bounds__(kAddThreads, sizeof(T) == 4 ? 4 : 2) add(AddTask<T> task) {
  __shared__ ComplexOf<T> phase[kFinished ? 1 : kMaxSide];
  __shared__ Placement starts[kEntriesAtOnce];
  __shared__ std::uint32_t which[kEntriesAtOnce];  // subgrid
  const GridTile tile = task.tiles[blockIdx.x];
  const int plane = blockIdx.y, side = task.side, half = side / 2;
  const int u = tile.u + threadIdx.x % kGridTile, first_v = tile.v + threadIdx.x / kGridTile * kRowsEach;
  const GridShape shape = task.grid;
  if (task.strip_used != nullptr && plane == 0 && threadIdx.x == 0)
    task.strip_used[tile.layer * grid_tiles(shape.n_v) + tile.v / kGridTile] = 1;
  ComplexOf<T>* grid =
      task.grids + (std::size_t(tile.layer) * task.n_planes + plane) * shape.cells() + shape.at(first_v, u);
  auto exists = [&](int i) { return u < shape.n_u && first_v + i < shape.n_v; };
  ComplexOf<T> sum[kRowsEach];
#pragma unroll
  for (int i = 0; i < kRowsEach; ++i)
    if (exists(i)) sum[i] = grid[std::size_t(i) * shape.pitch()];
  if constexpr (!kFinished)
    for (int i = threadIdx.x; i < side; i += kAddThreads) phase[i] = task.uv_phase[i];

  // Cells of a subgrid here: 0 .. side - 1 are its own.
  auto cell_u = [&](int e) {
    const int su = u - starts[e].start_u;
    return su < 0 ? su + shape.n_u : su;
  };
  auto cell_v = [&](int e, int i) {
    const int sv = first_v + i - starts[e].start_v;
    return sv < 0 ? sv + shape.n_v : sv;
  };
  auto place = [&](int cell) { return kFinished ? cell : cell < half ? cell + half : cell - half; };
  auto load = [&](int e, ComplexOf<T>* cells) {
    const int su = cell_u(e);
    const ComplexOf<T>* column = task.subgrids + std::size_t(which[e]) * side * side + place(su);
#pragma unroll
    for (int i = 0; i < kRowsEach; ++i) {
      const int sv = cell_v(e, i);
      cells[i] = {0, 0};
      if (su < side && sv < side) cells[i] = __ldg(column + place(sv) * side);
    }
  };
  auto add_cells = [&](int e, const ComplexOf<T>* cells) {
    const int su = cell_u(e);
    if (su >= side) return;
#pragma unroll
    for (int i = 0; i < kRowsEach; ++i) {
      if constexpr (kFinished) {
        sum[i].x += cells[i].x;
        sum[i].y += cells[i].y;
      } else if (const int sv = cell_v(e, i); sv < side) {
        const T pr = phase[sv].x * phase[su].x - phase[sv].y * phase[su].y;
        const T pi = phase[sv].x * phase[su].y + phase[sv].y * phase[su].x;
        sum[i].x += cells[i].x * pr - cells[i].y * pi;
        sum[i].y += cells[i].x * pi + cells[i].y * pr;
      }
    }
  };
  for (std::uint32_t first = 0; first < tile.n_entries; first += kEntriesAtOnce) {
    const int n = static_cast<int>(min(tile.n_entries - first, std::uint32_t(kEntriesAtOnce)));
    __syncthreads();
    if (threadIdx.x < n) {
      const std::uint32_t entry = task.entries[tile.first_entry + first + threadIdx.x],
                          own = entry / task.n_outputs;
      starts[threadIdx.x] = task.placements[own];
      which[threadIdx.x] = (own * task.n_planes + plane) * task.n_outputs + entry % task.n_outputs;
    }
    __syncthreads();
    // The cells of several subgrids are loaded at the same time, and added in the order of the entries.
    int e = 0;
    for (; e + kSubgridsAtOnce <= n; e += kSubgridsAtOnce) {
      ComplexOf<T> cells[kSubgridsAtOnce][kRowsEach];
#pragma unroll
      for (int k = 0; k < kSubgridsAtOnce; ++k) load(e + k, cells[k]);
#pragma unroll
      for (int k = 0; k < kSubgridsAtOnce; ++k) add_cells(e + k, cells[k]);
    }
    for (; e < n; ++e) {
      ComplexOf<T> cells[kRowsEach];
      load(e, cells);
      add_cells(e, cells);
    }
  }
#pragma unroll
  for (int i = 0; i < kRowsEach; ++i)
    if (exists(i)) grid[std::size_t(i) * shape.pitch()] = sum[i];
}

/// A block owns a subgrid.
template <class T>
__global__ void __launch_bounds__(256) reorder(ReorderTask<T> task) {
  const int side = task.side, half = side / 2;
  const std::size_t first = std::size_t(blockIdx.x) * side * side;
  for (int i = threadIdx.x; i < side * side; i += blockDim.x) {
    const int v = i / side, u = i % side;
    const ComplexOf<T> cell =
        task.subgrids[first + (v < half ? v + half : v - half) * side + (u < half ? u + half : u - half)];
    const ComplexOf<T> phase_v = task.uv_phase[v], phase_u = task.uv_phase[u];
    const T pr = phase_v.x * phase_u.x - phase_v.y * phase_u.y;
    const T pi = phase_v.x * phase_u.y + phase_v.y * phase_u.x;
    task.ordered[first + i].x = cell.x * pr - cell.y * pi;
    task.ordered[first + i].y = cell.x * pi + cell.y * pr;
  }
}

/// A block owns a tile.
template <class T, class W>
__global__ void __launch_bounds__(256) widen(const ComplexOf<T>* grid, ComplexOf<W>* work, int n_u, int n_v) {
  const int tiles_u = int(grid_tiles(n_u)), first_v = int(blockIdx.x) / tiles_u * kGridTile,
            u = int(blockIdx.x) % tiles_u * kGridTile + threadIdx.x % kGridTile;
  if (u >= n_u) return;
  const ComplexOf<T>* tile = grid + std::size_t(blockIdx.x) * kGridTile * kGridTile;
  for (int i = threadIdx.x; i < kGridTile * kGridTile; i += blockDim.x) {
    const int v = first_v + i / kGridTile;
    if (v < n_v) work[std::size_t(v) * n_u + u] = {W(tile[i].x), W(tile[i].y)};
  }
}

constexpr int kScreenThreads = 128;

/// A thread owns a pixel of a plane. Rows have no dimension of the launch to themselves: there may be more
/// than 65535.
template <class W>
__global__ void __launch_bounds__(kScreenThreads) screen(ScreenTask<W> task) {
  const int blocks_a_row = (task.n_x + kScreenThreads - 1) / kScreenThreads;
  const int x = blockIdx.x % blocks_a_row * kScreenThreads + threadIdx.x, y = blockIdx.x / blocks_a_row,
            plane = blockIdx.y;
  if (x >= task.n_x) return;
  // Pixel x is at l = (n_x/2 - x) cell, which the transform along u puts at index (n_x/2 - x) mod n_u.
  const double l = (task.n_x / 2 - x) * task.cell_rad, m = (y - task.n_y / 2) * task.cell_rad;
  const double r2 = l * l + m * m;
  if (r2 >= 1) return;  // below the horizon: the image is NaN there in the end
  const double n_minus_one = -r2 / (1 + sqrt(1 - r2));
  const int u = (task.n_x / 2 - x + task.n_u) % task.n_u, v = (y - task.n_y / 2 + task.n_v) % task.n_v;
  const std::size_t cell = (std::size_t(plane) * task.n_v + v) * task.n_u + u;
  double* pixel = task.image + (std::size_t(plane) * task.n_y + y) * task.n_x + x;
  double sum = *pixel;
  for (int layer = 0; layer < task.n_layers; ++layer) {
    W sine, cosine;
    sincos_turns(-task.layers[layer].w_lambda * (n_minus_one + task.n_shift), sine, cosine);
    const ComplexOf<W> value = task.layers[layer].cells[cell];
    sum += value.x * cosine - value.y * sine;
  }
  *pixel = sum;
}

}  // namespace

template <class T>
void launch_add(const AddTask<T>& task, cudaStream_t stream) {
  const dim3 blocks(task.n_tiles, task.n_planes);
  if (task.uv_phase == nullptr)
    add<T, true><<<blocks, kAddThreads, 0, stream>>>(task);
  else
    add<T, false><<<blocks, kAddThreads, 0, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the adder");
}

template <class T>
void launch_reorder(const ReorderTask<T>& task, cudaStream_t stream) {
  reorder<<<static_cast<unsigned>(task.n_subgrids), 256, 0, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the order of subgrids");
}

template <class T, class W>
void launch_widen(const ComplexOf<T>* grid, ComplexOf<W>* work, int n_u, int n_v, cudaStream_t stream) {
  const std::size_t n_tiles = grid_tiles(n_u) * grid_tiles(n_v);
  widen<T, W><<<static_cast<unsigned>(n_tiles), 256, 0, stream>>>(grid, work, n_u, n_v);
  cuda_check(cudaGetLastError(), "launching the conversion of a grid");
}

template <class W>
void launch_screen(const ScreenTask<W>& task, cudaStream_t stream) {
  const unsigned blocks_a_row = (task.n_x + kScreenThreads - 1) / kScreenThreads;
  screen<W><<<dim3(blocks_a_row * task.n_y, task.n_planes), kScreenThreads, 0, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the w screen");
}

template void launch_add(const AddTask<float>&, cudaStream_t);
template void launch_add(const AddTask<double>&, cudaStream_t);
template void launch_reorder(const ReorderTask<float>&, cudaStream_t);
template void launch_reorder(const ReorderTask<double>&, cudaStream_t);
template void launch_widen<float, float>(const float2*, float2*, int, int, cudaStream_t);
template void launch_widen<float, double>(const float2*, double2*, int, int, cudaStream_t);
template void launch_widen<double, double>(const double2*, double2*, int, int, cudaStream_t);
template void launch_screen(const ScreenTask<float>&, cudaStream_t);
template void launch_screen(const ScreenTask<double>&, cudaStream_t);

}  // namespace apsyn::idg_cuda
