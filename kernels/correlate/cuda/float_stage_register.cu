// SPDX-License-Identifier: GPL-3.0-or-later
// The X stage on float32 by fused multiply-adds from register tiles.
//
// A block of 64 threads owns a 64x64 tile of input pairs of one channel and one share of the spectra; a
// thread owns 8x8 pairs, in 2x2 cells 16 inputs apart, so that the eight loads of 16 bytes for 256 fused
// multiply-adds are free of bank conflicts and, on the diagonal, the cells below it are the same for all
// threads and left out. Four blocks share an SM.
//
// Rounding: sums of 64 spectra in registers, of those in shared memory, both float32, and of shares and of
// calls in float64. A sum of n terms of one sign rounds by about sqrt(n / 3) 2^-25 of itself, so for calls of
// up to 64 x 512 spectra per share the error is 2e-7 at worst and independent of the integration's length.
#include <algorithm>
#include <cstdint>

#include "kernels/common/cuda/check.h"
#include "kernels/common/cuda/sm90/async_copy.cuh"
#include "kernels/common/cuda/sm90/shared_memory.cuh"
#include "kernels/correlate/cuda/float_stage_kernels.cuh"

namespace apsyn::x_stage {
namespace {

constexpr int kTile = 64, kThreads = 64, kDepth = 8, kStages = 3, kInner = 64;
constexpr int kCells = 64;  // of a thread
constexpr int kOperand = kDepth * kTile;
constexpr int kSharedBytes = (kStages * 2 * kOperand + kCells * kThreads) * int(sizeof(float2));

/// Copies kInputs (1 or 2) inputs' samples, or zeros.
template <int kInputs>
__device__ __forceinline__ void copy(float2* target, const float2* source, bool valid) {
  if constexpr (kInputs == 2)
    ptx::copy_16_or_zeros(ptx::shared_address(target), source, valid);
  else
    ptx::copy_cached_or_zeros<8>(ptx::shared_address(target), source, valid);
}

/// The rows or columns of a tile that a thread owns: 2 index + 16 p and the next one.
__device__ __forceinline__ int own(int index, int k) {
  return 2 * index + 16 * (k / 2) + k % 2;
}

/// A thread's copies of one operand: kInputs inputs of every kStride-th spectrum of a step.
template <int kInputs>
struct OperandCopy {
  static constexpr int kAcross = kTile / kInputs, kStride = kThreads / kAcross;
  const float2 *next, *anywhere;
  float2* ring;
  int spectrum;
  bool valid;

  __device__ OperandCopy(const float2* samples, int first_input, int n_input, int first, float2* ring)
      : anywhere(samples), spectrum(int(threadIdx.x) / kAcross) {
    const int at = int(threadIdx.x) % kAcross * kInputs;
    valid = first_input + at < n_input;
    next = samples + std::size_t(first + spectrum) * n_input + (valid ? first_input + at : 0);
    this->ring = ring + spectrum * kTile + at;
  }
  /// Copies the step's kDepth spectra into its stage; only `left` of them exist.
  __device__ void step(int stage, int left, int n_input) {
    float2* target = ring + stage * 2 * kOperand;
#pragma unroll
    for (int d = 0; d < kDepth; d += kStride) {
      const bool there = valid && spectrum + d < left;
      copy<kInputs>(target + d * kTile, there ? next : anywhere, there);
      next += std::size_t(kStride) * n_input;
    }
  }
};

struct Fragment {
  float4 a[4], b[4];  // two inputs (re, im) each
  __device__ void load(const float2* rows, const float2* columns, int x, int y) {
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      a[p] = *reinterpret_cast<const float4*>(rows + own(y, 2 * p));
      b[p] = *reinterpret_cast<const float4*>(columns + own(x, 2 * p));
    }
  }
};

template <bool kDiagonal>
struct Sums {
  float re[8][8] = {}, im[8][8] = {};

  /// Whether any thread's cell may be above the diagonal.
  __device__ static constexpr bool needed(int i, int j) { return !kDiagonal || i / 2 <= j / 2; }

  __device__ __forceinline__ void add(const Fragment& f) {
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        if (!needed(i, j)) continue;
        const float ar = i % 2 ? f.a[i / 2].z : f.a[i / 2].x, ai = i % 2 ? f.a[i / 2].w : f.a[i / 2].y;
        const float br = j % 2 ? f.b[j / 2].z : f.b[j / 2].x, bi = j % 2 ? f.b[j / 2].w : f.b[j / 2].y;
        re[i][j] = fmaf(ar, br, re[i][j]);
        im[i][j] = fmaf(ai, br, im[i][j]);
        re[i][j] = fmaf(ai, bi, re[i][j]);
        im[i][j] = fmaf(-ar, bi, im[i][j]);
      }
  }
  /// Adds the sums to outer [cell][thread] and clears them.
  __device__ __forceinline__ void spill(float2* outer) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        if (!needed(i, j)) continue;
        float2& sum = outer[(i * 8 + j) * kThreads + threadIdx.x];
        sum = make_float2(sum.x + re[i][j], sum.y + im[i][j]);
        re[i][j] = im[i][j] = 0;
      }
      asm volatile("" ::: "memory");  // no more than eight loads in registers at once
    }
  }
};

/// Sums over spectra first .. end - 1 of one tile, into `outer`.
template <bool kDiagonal, int kInputs>
__device__ __forceinline__ void cross_tile(const FloatTask& task, const float2* samples, int first_row,
                                           int first_column, int first, int end, float2* ring,
                                           float2* outer) {
  constexpr int kColumns = kDiagonal ? 0 : kOperand;  // of a stage
  OperandCopy<kInputs> row_copy(samples, first_row, task.n_input, first, ring);
  OperandCopy<kInputs> column_copy(samples, first_column, task.n_input, first, ring + kOperand);
  const int n_steps = max(0, (end - first + kDepth - 1) / kDepth);
  const auto fetch = [&](int step) {
    if (step < n_steps) {
      row_copy.step(step % kStages, end - first - step * kDepth, task.n_input);
      if constexpr (!kDiagonal) column_copy.step(step % kStages, end - first - step * kDepth, task.n_input);
    }
    ptx::commit_copies();  // empty groups keep the count constant
  };
  for (int step = 0; step < kStages - 1; ++step) fetch(step);
  const int x = threadIdx.x & 7, y = threadIdx.x >> 3;
  Sums<kDiagonal> sums;
  for (int step = 0; step < n_steps; ++step) {
    ptx::wait_for_copies<kStages - 2>();
    __syncthreads();
    fetch(step + kStages - 1);
    const float2* rows = ring + step % kStages * 2 * kOperand;
    // not unrolled: 256 multiply-adds are 4 KB of instructions, and more would wait to be fetched
#pragma unroll 1
    for (int d = 0; d < kDepth; ++d, rows += kTile) {
      Fragment fragment;
      fragment.load(rows, rows + kColumns, x, y);
      sums.add(fragment);
    }
    if ((step + 1) % (kInner / kDepth) == 0) sums.spill(outer);
  }
  sums.spill(outer);
}

template <int kInputs>
__global__ void __launch_bounds__(kThreads, 4) register_tiles(FloatTask task, int n_tiles) {
  extern __shared__ float4 dynamic_shared[];
  auto* ring = reinterpret_cast<float2*>(dynamic_shared);  // [stage][operand][spectrum][input]
  float2* outer = ring + kStages * 2 * kOperand;           // [cell][thread]
  int row_tile = 0, rest = blockIdx.x;
  while (rest >= n_tiles - row_tile) rest -= n_tiles - row_tile++;
  const int first_row = row_tile * kTile, first_column = (row_tile + rest) * kTile;
  const int chan = blockIdx.y, part = blockIdx.z, n_parts = gridDim.z;
  const int per_part = ((task.n_spectra + n_parts - 1) / n_parts + kInner - 1) / kInner * kInner;
  const int first = part * per_part, end = min(task.n_spectra, first + per_part);
  const float2* samples = task.samples + task.chan_stride * chan;
#pragma unroll 1
  for (int cell = 0; cell < kCells; ++cell) outer[cell * kThreads + threadIdx.x] = make_float2(0, 0);
  if (rest == 0)
    cross_tile<true, kInputs>(task, samples, first_row, first_column, first, end, ring, outer);
  else
    cross_tile<false, kInputs>(task, samples, first_row, first_column, first, end, ring, outer);

  double2* sums = task.sums.sums + part * task.sums.part_stride + chan * task.sums.chan_stride;
  const int x = threadIdx.x & 7, y = threadIdx.x >> 3;
#pragma unroll 1
  for (int i = 0; i < 8; ++i)
#pragma unroll 1
    for (int j = 0; j < 8; ++j) {
      const int row = first_row + own(y, i), column = first_column + own(x, j);
      if (row > column || column >= task.n_input) continue;
      const std::size_t pair = std::size_t(row) * task.n_input - std::size_t(row) * (row + 1) / 2 + column;
      const float2 sum = outer[(i * 8 + j) * kThreads + threadIdx.x];
      double2& total = sums[pair];
      total = make_double2(total.x + double(sum.x), total.y + double(sum.y));
    }
}

int tile_pairs(int n_input) {
  const int n_tiles = (n_input + kTile - 1) / kTile;
  return n_tiles * (n_tiles + 1) / 2;
}

}  // namespace

int register_parts(int n_chan, int n_input, int n_sm) {
  constexpr long kMax = 8;
  const long one = static_cast<long>(tile_pairs(n_input)) * n_chan, wave = 4L * n_sm;
  const auto waves = [&](long parts) { return (parts * one + wave - 1) / wave; };
  long best = 1;  // the least idle share of the last wave
  for (long parts = 2; parts <= kMax; ++parts)
    if (parts * waves(best) > best * waves(parts)) best = parts;
  return static_cast<int>(best);
}

void launch_register(const FloatTask& task, cudaStream_t stream) {
  const bool aligned = task.n_input % 2 == 0 && task.chan_stride % 2 == 0 &&
                       reinterpret_cast<std::uintptr_t>(task.samples) % 16 == 0;
  const auto kernel = aligned ? register_tiles<2> : register_tiles<1>;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
             "asking for shared memory");
  const dim3 grid(tile_pairs(task.n_input), task.n_chan, task.sums.n_parts);
  kernel<<<grid, kThreads, kSharedBytes, stream>>>(task, (task.n_input + kTile - 1) / kTile);
  cuda_check(cudaGetLastError(), "launching the X stage (register tiles)");
}

}  // namespace apsyn::x_stage
