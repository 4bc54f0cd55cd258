// SPDX-License-Identifier: GPL-3.0-or-later
// The second kernel of fft/cuda/matrix/matrix.cuh; a source file for each number of steps along y
// instantiates it.
#pragma once

#include <stdexcept>

#include "kernels/common/cuda/launch.cuh"
#include "kernels/epic/fft/cuda/matrix/imager.cuh"

namespace apsyn::epic_fft {

/// Blocks: (channel and piece, part).
template <int kStepsY, int kStepsX, int kRows, int kN, int kParts, int kBuffers>
__global__ __launch_bounds__(kMatrixThreads,
                             1) void image_grids(const __grid_constant__ ImageGridsTask task) {
  extern __shared__ __align__(128) char shared[];
  using Imager = GridImager<kStepsY, kStepsX, kRows, kN, kParts, kBuffers>;
  constexpr int kSums = matrix_sums(Imager::kSize);
  const int n_piece = task.pieces_y * task.pieces_x;
  const int channel = blockIdx.x / n_piece, piece = blockIdx.x % n_piece, part = blockIdx.y;
  const int n_each = (task.n_spectra + task.n_part - 1) / task.n_part;
  const int begin = part * n_each, n = min(task.n_spectra - begin, n_each);
  if (n <= 0) return;
  const Imager imager{task, shared, static_cast<int>(threadIdx.x) / 32, static_cast<int>(threadIdx.x) % 32};
  const unsigned first = channel * task.n_spectra + begin;
  const auto load = [&](int t) {
    if (t < n) imager.load_grid(task.grids + std::size_t(first + t) * Imager::kGridWords, t);
    ptx::commit_copies();
  };
  const auto table = imager.load_column_table(
      task.column_table + piece % task.pieces_x * (column_table_words(Imager::kSize) / 2));
  imager.load_row_table(task.row_table + piece / task.pieces_x * (row_table_words(Imager::kSize) / 4));
  float sums[kSums] = {};
  load(0);
  if constexpr (kBuffers == 2) {
    ptx::wait_for_copies<0>();
    __syncthreads();
    load(1);
    imager.transform_columns(0);
  }
  // the last piece's pixels may end before its warps do
  const bool busy =
      (piece % task.pieces_x * Imager::kWarpColumns + imager.warp % Imager::kWarpColumns) * 8 * kN <
      task.pairs_x;
  int t = 0;
#pragma unroll 1
  do {
    ptx::wait_for_copies<0>();
    __syncthreads();
    if constexpr (kBuffers == 2) {
      load(t + 2);
      // Half of the warps, one of the two of each scheduler, take the two steps the other way round: one is
      // bound by shared memory, the other by arithmetic.
      const bool late = imager.warp >= kMatrixWarps / 2;
#pragma unroll 1
      for (int step = 0; step < 2; ++step) {
        if ((step == 0) == late) {
          if (busy) imager.multiply(t, table, sums);
        } else if (t + 1 < n) {
          imager.transform_columns(t + 1);
        }
      }
    } else {
      imager.transform_columns(t);
      __syncthreads();
      load(t + 1);
      if (busy) imager.multiply(t, table, sums);
    }
  } while (++t < n);
  double* to = task.sums +
               ((std::size_t(task.first_channel + channel) * n_piece + piece) * task.n_part + part) *
                   (kSums * kMatrixThreads) +
               threadIdx.x;
  const double scale = static_cast<double>(task.scale) * task.channel_scale[task.first_channel + channel];
  const double factor = 1 / (scale * scale);
  // added in memory, where no other thread adds: loads would take registers
#pragma unroll
  for (int i = 0; i < kSums; ++i) atomicAdd(to + i * kMatrixThreads, factor * static_cast<double>(sums[i]));
}

template <int kStepsY, int kStepsX, int kRows, int kN, int kParts, int kBuffers>
void launch_images(const ImageGridsTask& task, cudaStream_t stream) {
  const auto kernel = image_grids<kStepsY, kStepsX, kRows, kN, kParts, kBuffers>;
  const std::size_t bytes = matrix_shared_bytes({kStepsY, kStepsX, kRows, kN, kParts}, kBuffers);
  cuda_check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
      "imaging: shared memory");
  const dim3 grid(static_cast<unsigned>(task.n_channel * task.pieces_y * task.pieces_x),
                  static_cast<unsigned>(task.n_part));
  kernel<<<grid, kMatrixThreads, bytes, stream>>>(task);
  launched("imaging grids");
}

template <int kStepsY, int kStepsX, int kRows, int kN, int kParts, int kBuffers>
void launch_fitting(const ImageGridsTask& task, cudaStream_t stream) {
  if constexpr (matrix_fits({kStepsY, kStepsX, kRows, kN, kParts}, kBuffers))
    launch_images<kStepsY, kStepsX, kRows, kN, kParts, kBuffers>(task, stream);
  else
    throw std::logic_error("ImageGridsTask: no kernel of this size");
}

template <int kStepsY, int kStepsX, int kRows, int kN>
void launch_parts(const ImageGridsTask& task, const MatrixSize& size, cudaStream_t stream) {
  if (size.n_part == 2) return launch_fitting<kStepsY, kStepsX, kRows, kN, 2, 1>(task, stream);
  if (task.n_buffer == 2) return launch_fitting<kStepsY, kStepsX, kRows, kN, 1, 2>(task, stream);
  launch_fitting<kStepsY, kStepsX, kRows, kN, 1, 1>(task, stream);
}

/// The shapes of kMatrixShapes.
template <int kStepsY, int kStepsX>
void launch_shape(const ImageGridsTask& task, const MatrixSize& size, cudaStream_t stream) {
  if (size.rows == 1) return launch_parts<kStepsY, kStepsX, 1, 2>(task, size, stream);
  if (size.n == 2) return launch_parts<kStepsY, kStepsX, 2, 2>(task, size, stream);
  launch_parts<kStepsY, kStepsX, 2, 1>(task, size, stream);
}

template <int kStepsY>
void launch_steps_y(const ImageGridsTask& task, const MatrixSize& size, cudaStream_t stream) {
  if (size.steps_x == 1) return launch_shape<kStepsY, 1>(task, size, stream);
  if (size.steps_x == 2) return launch_shape<kStepsY, 2>(task, size, stream);
  launch_shape<kStepsY, 3>(task, size, stream);
}

}  // namespace apsyn::epic_fft
