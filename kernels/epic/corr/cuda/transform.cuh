// SPDX-License-Identifier: GPL-3.0-or-later
// Grids of all orders (corr/cuda/grid.cuh) to sums over pixels by one kernel: a block transforms one product
// of a channel, order after order, in shared memory, and keeps its image in registers. Columns first, of
// which the wanted rows stay; then two rows at a time, which are the real and the imaginary part of a
// transform. Forward transforms of (im, re) are backward ones of (re, im).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/epic/corr/cuda/grid.cuh"
#include "kernels/epic/corr/cuda/transform_passes.cuh"

namespace apsyn::epic_cuda {

constexpr int kTransformThreads = 384;
constexpr int kTransformSums = 64;  ///< pixels of a thread
/// Items of the last pass along rows, of a thread: of two rows and as many pixels as its radix, 8 or 16.
__host__ __device__ constexpr int transform_items(int last_radix) {
  return kTransformSums / 2 / last_radix;
}
/// Where a thread's sum stands among all.
__host__ __device__ constexpr int transform_slot(int sum, int thread) {
  return (sum / 4 * kTransformThreads + thread) * 4 + sum % 4;
}

struct TransformShape {
  int n_pass_y = 0, n_pass_x = 0;
  int last_radix = 8;  ///< along rows
  TransformPass pass_y[kMaxTransformPasses], pass_x[kMaxTransformPasses];
  int n_turn = 0;
  int n_pair = 0;                           ///< of rows
  int n_chunk_column = 0;                   ///< columns that are transformed at a time
  Divider pair, chunk_column, last_column;  ///< by them, and by the columns of the last time
  int shared_bytes = 0;
  __host__ __device__ int pitch() const { return n_pair | 1; }
};

struct TransformTask {
  CellShape cells_shape;
  TransformShape shape;
  int n_image = 0;
  const float2* turns = nullptr;
  const std::uint16_t* row_of_place = nullptr;  ///< [place along a column] 2 pair + half, 0xFFFF = not wanted
  const float2* cells = nullptr;                ///< [image][order][product][n_y][n_column]
  const float* factors = nullptr;               ///< [order][slot]: T_k over the kernel's transform
  const std::uint32_t* pixels = nullptr;        ///< [slot] pixel; slot: transform_slot()
  double* sums = nullptr;                       ///< [image][n_stride][4] +=
  std::size_t n_stride = 0;
};
void launch_transform(const TransformTask& task, cudaStream_t stream);

}  // namespace apsyn::epic_cuda
