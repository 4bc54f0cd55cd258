// SPDX-License-Identifier: GPL-3.0-or-later
// The sum over a task's visibilities on Hopper's tensor cores, in single precision.
//
// Cosines and sines of the positive half pixels make it one real matrix product, as in cuda/grid/kernels.cuh:
//
//   C[plane][re, im][cos_y, sin_y][y][cos_x, sin_x][x] = sum_k A[k][row] B[k][column]
//
// with A = V times a phasor in y and B a phasor in x. Float32 operands are sums of two float16, hi + lo;
// products hi hi, hi lo and lo hi are summed in float32. Phases in w are expanded in Chebyshev polynomials
// T_r(t) about the middle of a chunk's bin, which multiply B alone: the terms stand side by side as more
// columns, so that A is made once. Terms of small coefficients are float16 alone. After 256 slots of a chunk,
// or 512 of three terms, the terms are combined, turned by the bin's distance from the task's w, and added to
// sums in float32: tensor cores truncate, and a sum of 2048 products would shrink by 1e-5.
#pragma once

#include <cuda_runtime.h>

#include "kernels/idg/cuda/partition/slots.cuh"

namespace apsyn::idg_cuda {

/// How far a bin may reach in w: phi = 2 pi w_unit n_half_range at most, so that the expansion's error,
/// relative RMS over a subgrid, stays below 2e-6.
enum class TensorTerms { three, four };
constexpr double max_phi(TensorTerms terms) {
  return terms == TensorTerms::three ? 0.02 : 0.2;
}

/// Half the side up to whole tiles of 16 or of 24 pixels, whichever are fewer.
__host__ __device__ constexpr int tensor_half(int side) {
  const int by16 = (side / 2 + 15) / 16 * 16, by24 = (side / 2 + 23) / 24 * 24;
  return by24 < by16 ? by24 : by16;
}

/// Where a task begins, so that whoever walks over tasks need not look for it.
struct alignas(16) TaskStart {
  std::uint32_t task;  ///< of the sums, and 2^16 (128 + exponent): values times 2^exponent fit into float16
  std::uint32_t first_chunk, first_slot, n_slots;  ///< n_slots: of the chunk
};

struct TensorGridTask {
  const SlotTask* tasks;
  const std::uint32_t* selected;  ///< [n_selected] tasks to sum, at most 2^16, the longest first
  const Chunk* chunks;
  const std::uint32_t* largest;  ///< [task as chunks count them]
  TaskStart* starts;             ///< [n_selected + n_sm] room for the launch
  Slots<float> in;
  int n_selected, n_planes, side;
  const float4* coefficient;  ///< [y][x] of tensor_half() each: those of T_1, T_2, T_3, and n - n_middle
  float phase_per_n;          ///< 2 pi w_unit_lambda, of all these tasks
  float* sums;                ///< [task][plane][re, im][cos_y, sin_y][y][cos_x, sin_x][x], tensor_half() wide
};
/// For compute capability 9.0 alone.
void launch_tensor_grid(const TensorGridTask& task, TensorTerms terms, int n_sm, cudaStream_t stream);

}  // namespace apsyn::idg_cuda
