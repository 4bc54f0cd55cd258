// SPDX-License-Identifier: GPL-3.0-or-later
// The sum over a task's visibilities where float16 does not do. The product is a register-tiled real matrix
// product on CUDA cores: a block owns 256 rows x 32 columns of one task, a thread 8 rows x 4 columns. Rows
// differ within a thread in y alone, so a value of A is one product of a term and a phasor in registers.
// Batches of 32 visibilities arrive in shared memory by asynchronous copies while the batch before is used.
#include "kernels/common/cuda/check.h"
#include "kernels/common/cuda/sm90/async_copy.cuh"
#include "kernels/common/cuda/sm90/shared_memory.cuh"
#include "kernels/idg/cuda/grid/kernels.cuh"

namespace apsyn::idg_cuda {
namespace {

template <class T>
__global__ void make_terms(FactorTask<T> task) {
  const std::size_t k = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k >= task.n_slots) return;
  const T t = task.in.t[task.first_slot + k];
  const ComplexOf<T>* values = task.in.value + (task.first_slot + k) * task.n_planes;
  ComplexOf<T>* out = task.out.terms + k * task.w.n_terms * task.n_planes;
  T before = 1, now = t;  // Chebyshev polynomials T_0, T_1, ...
  for (int r = 0; r < task.w.n_terms; ++r) {
    T term = 1;
    if (task.w.kernel) {
      const T at = (t - r * T(task.w.layer_step_lambda)) / T(task.w.half_w_lambda);
      term = at * at < 1 ? exp(T(task.w.kernel_beta) * (sqrt(1 - at * at) - 1)) : T(0);
    } else if (r > 0) {
      term = now;
      const T next = 2 * t * now - before;
      before = now;
      now = next;
    }
    for (int plane = 0; plane < task.n_planes; ++plane) {
      out[r * task.n_planes + plane].x = values[plane].x * term;
      out[r * task.n_planes + plane].y = values[plane].y * term;
    }
  }
}

/// Computes the phasors of the pixels in the positive half.
template <class T>
__global__ void make_phasors(FactorTask<T> task) {
  const int half = task.side / 2, padded = padded_half(task.side);
  const std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= task.n_slots * padded) return;
  const std::size_t k = i / padded;
  const int pixel = static_cast<int>(i % padded);
  T sine = 0, cosine = 0;
  if (pixel < half) {
    sincos_turns(double(task.in.du[task.first_slot + k]) * (pixel + 0.5), sine, cosine);
    task.out.phasors_u[k * task.side + pixel] = cosine;
    task.out.phasors_u[k * task.side + half + pixel] = sine;
    sincos_turns(double(task.in.dv[task.first_slot + k]) * (pixel + 0.5), sine, cosine);
  }
  task.out.phasors_v[k * 2 * padded + pixel] = cosine;
  task.out.phasors_v[k * 2 * padded + padded + pixel] = sine;
}

/// Asynchronous copies to shared memory; nothing is read and zeros are written where `exists` is false.
template <class U>
__device__ __forceinline__ void copy_async(U* target, const U* source, bool exists) {
  ptx::copy_cached_or_zeros<sizeof(U)>(ptx::shared_address(target), source, exists);
}

/// Operands of one batch of visibilities.
template <class T>
struct Batch {
  static constexpr int kMax = 32, kPhasors = 16384 / sizeof(T), kPairs = kTileRows / 32 + 2;
  alignas(16) T phasors_v[kPhasors];             ///< [visibility][2 padded half]
  alignas(16) T phasors_u[kMax][kTileColumns];   ///< the tile's columns
  alignas(16) ComplexOf<T> terms[kMax][kPairs];  ///< the tile's (term, plane) pairs
};

template <class T>
__global__ void __launch_bounds__(kTileThreads, sizeof(T) == 4 ? 3 : 2) product(ProductTask<T> task) {
  constexpr int kRowsPerThread = 8, kColumnsPerThread = 4;
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  auto* batches = reinterpret_cast<Batch<T>*>(dynamic_shared);  // two: one is filled while the other is used
  const std::uint32_t own_first =
      task.tasks[blockIdx.x].first_slot - static_cast<std::uint32_t>(task.first_slot);
  const int own_slots = static_cast<int>(task.tasks[blockIdx.x].n_slots);
  const int padded = padded_half(task.side), width_v = 2 * padded;
  const int batch_size = min(Batch<T>::kMax, Batch<T>::kPhasors / width_v);
  const int first_row = blockIdx.y * kTileRows, first_column = blockIdx.z * kTileColumns;
  const int my_row = (threadIdx.x / 8) * kRowsPerThread, my_column = (threadIdx.x % 8) * kColumnsPerThread;
  const int n_pairs = task.n_terms * task.n_planes, first_pair = first_row / (4 * padded);
  const int pairs_here =
      min(n_pairs - first_pair, (first_row + kTileRows - 1) / (4 * padded) - first_pair + 1);
  // This thread's rows: one pair and quadrant (re cos, re sin, im cos, im sin), eight pixels.
  const int my_pair = (first_row + my_row) / (4 * padded) - first_pair;
  const int quadrant = (first_row + my_row) / padded % 4;
  const int phasor = (quadrant & 1) * padded + (first_row + my_row) % padded;
  const bool idle = my_pair >= pairs_here;  // rows that only fill up the last tile

  auto fill = [&](Batch<T>& batch, int begin) {
    const int n = min(batch_size, own_slots - begin);
    const std::size_t slot = own_first + begin;
    for (int i = threadIdx.x; i < batch_size * width_v; i += kTileThreads)
      copy_async(&batch.phasors_v[i], task.in.phasors_v + slot * width_v + i, i < n * width_v);
    for (int i = threadIdx.x; i < batch_size * kTileColumns; i += kTileThreads) {
      const int k = i / kTileColumns, column = first_column + i % kTileColumns;
      const bool exists = k < n && column < task.side;
      copy_async(&batch.phasors_u[k][i % kTileColumns],
                 task.in.phasors_u + (exists ? (slot + k) * task.side + column : 0), exists);
    }
    for (int i = threadIdx.x; i < batch_size * pairs_here; i += kTileThreads) {
      const int k = i / pairs_here, pair = i % pairs_here;
      const bool exists = k < n;
      copy_async(&batch.terms[k][pair],
                 task.in.terms + (exists ? (slot + k) * n_pairs + first_pair + pair : 0), exists);
    }
    ptx::commit_copies();
  };

  T sum[kRowsPerThread][kColumnsPerThread] = {};
  fill(batches[0], 0);
  int current = 0;
  for (int begin = 0; begin < own_slots; begin += batch_size, current ^= 1) {
    if (begin + batch_size < own_slots) {
      fill(batches[current ^ 1], begin + batch_size);
      ptx::wait_for_copies<1>();
    } else {
      ptx::wait_for_copies<0>();
    }
    __syncthreads();
    if (!idle) {
      const Batch<T>& batch = batches[current];
#pragma unroll 2
      for (int k = 0; k < batch_size; ++k) {
        const ComplexOf<T> term = batch.terms[k][my_pair];
        const T value = quadrant < 2 ? term.x : term.y;
        T row_value[kRowsPerThread], column_value[kColumnsPerThread];
#pragma unroll
        for (int i = 0; i < kRowsPerThread; ++i)
          row_value[i] = value * batch.phasors_v[k * width_v + phasor + i];
#pragma unroll
        for (int j = 0; j < kColumnsPerThread; ++j) column_value[j] = batch.phasors_u[k][my_column + j];
#pragma unroll
        for (int i = 0; i < kRowsPerThread; ++i)
#pragma unroll
          for (int j = 0; j < kColumnsPerThread; ++j) sum[i][j] += row_value[i] * column_value[j];
      }
    }
    __syncthreads();
  }
  T* out = task.products + (std::size_t(blockIdx.x) * task.n_rows_padded + first_row + my_row) * task.side;
#pragma unroll
  for (int i = 0; i < kRowsPerThread; ++i)
#pragma unroll
    for (int j = 0; j < kColumnsPerThread; ++j)
      if (first_column + my_column + j < task.side)
        out[i * task.side + first_column + my_column + j] = sum[i][j];
}

}  // namespace

template <class T>
void launch_factors(const FactorTask<T>& task, cudaStream_t stream) {
  make_terms<<<static_cast<unsigned>((task.n_slots + 127) / 128), 128, 0, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the gridder's terms");
  const std::size_t n = task.n_slots * padded_half(task.side);
  make_phasors<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the gridder's phasors");
}

template <class T>
void launch_product(const ProductTask<T>& task, cudaStream_t stream) {
  constexpr int kSharedBytes = 2 * sizeof(Batch<T>);
  cuda_check(cudaFuncSetAttribute(product<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
             "asking for shared memory");
  const dim3 blocks(task.n_tasks, task.n_rows_padded / kTileRows,
                    (task.side + kTileColumns - 1) / kTileColumns);
  product<T><<<blocks, kTileThreads, kSharedBytes, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the gridder's product");
}

template void launch_factors(const FactorTask<float>&, cudaStream_t);
template void launch_factors(const FactorTask<double>&, cudaStream_t);
template void launch_product(const ProductTask<float>&, cudaStream_t);
template void launch_product(const ProductTask<double>&, cudaStream_t);

}  // namespace apsyn::idg_cuda
