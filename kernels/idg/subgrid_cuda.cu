// SPDX-License-Identifier: GPL-3.0-or-later
// From visibilities to the images of subgrids. The product is a register-tiled real matrix product on CUDA
// cores: a block owns 256 rows x 32 columns of one task, a thread 8 rows x 4 columns. Rows differ within a
// thread in y alone, so a value of A is one product of a term and a phasor in registers. Batches of 32
// visibilities arrive in shared memory by asynchronous copies while the batch before is used. Phases are
// reduced to turns in float64, so that single precision loses nothing to large arguments.
#include "kernels/common/cuda_check.h"
#include "kernels/idg/idg_kernels.cuh"

namespace apsyn::idg_cuda {
namespace {

__device__ __forceinline__ void sincos_turns(double turns, float& sine, float& cosine) {
  sincospif(static_cast<float>(2 * (turns - rint(turns))), &sine, &cosine);
}
__device__ __forceinline__ void sincos_turns(double turns, double& sine, double& cosine) {
  sincospi(2 * (turns - rint(turns)), &sine, &cosine);
}

template <class T>
__global__ void prepare(PrepareTask<T> task) {
  const Geometry& g = task.geometry;
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= task.n_visibilities) return;
  const std::uint32_t cell = task.visibility[k];
  const std::uint32_t row = cell / task.n_chan, chan = cell % task.n_chan;
  const Task& own = task.tasks[task.task_of[k]];
  const double wavenumber = task.wavenumber[chan];
  double u = task.uvw_m[3 * row] * wavenumber, v = task.uvw_m[3 * row + 1] * wavenumber;
  double w = task.uvw_m[3 * row + 2] * wavenumber;
  const double path = task.path_m == nullptr ? 0.0 : task.path_m[row] * wavenumber;
  const bool conjugate = w < 0;  // V(-u, -v, -w) = V*: only the real part is imaged
  if (conjugate) {
    u = -u;
    v = -v;
    w = -w;
  }
  task.out.turns[k] =
      make_double2((u * g.per_u - own.centre_u) / g.side, (v * g.per_v - own.centre_v) / g.side);
  const double dw = w - own.w_lambda;
  const double w_phase = (g.w_kernel ? w : dw) * (g.n_middle - 1);
  double w_sine, w_cosine, sine, cosine;
  sincos_turns(-w_phase, w_sine, w_cosine);
  sincos_turns(-path, sine, cosine);
  for (int plane = 0; plane < g.n_planes; ++plane) {
    const bool psf = plane >= g.n_data_planes;
    const double weight = task.weight[std::size_t(cell) * g.n_weight_planes + (psf ? 0 : plane)];
    double re = 0, im = 0;
    if (weight != 0) {
      re = weight;
      if (!psf) {
        const float2 value = task.data[std::size_t(cell) * g.n_data_planes + plane];
        re = weight * (value.x * cosine - value.y * sine);
        im = weight * (value.x * sine + value.y * cosine);
      }
    }
    if (conjugate) im = -im;
    const double value_re = re * w_cosine - im * w_sine, value_im = re * w_sine + im * w_cosine;
    ComplexOf<T>* out = task.out.terms + std::size_t(k) * g.n_terms * g.n_planes + plane;
    double before = 1, now = dw / g.half_w_lambda;  // Chebyshev polynomials T_0, T_1, ...
    const double t = now;
    for (int r = 0; r < g.n_terms; ++r) {
      double term = 1;
      if (g.w_kernel) {
        const double at = (dw - r * g.layer_step_lambda) / g.half_w_lambda;
        term = at * at < 1 ? exp(g.kernel_beta * (sqrt(1 - at * at) - 1)) : 0.0;
      } else if (r > 0) {
        term = now;
        const double next = 2 * t * now - before;
        before = now;
        now = next;
      }
      out[r * g.n_planes].x = static_cast<T>(value_re * term);
      out[r * g.n_planes].y = static_cast<T>(value_im * term);
    }
  }
}

/// cos and sin of the positive half pixels' phases, in turns reduced in float64.
template <class T>
__global__ void make_phasors(PhasorTask<T> task) {
  const int half = task.side / 2, padded = padded_half(task.side);
  const std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= task.n_visibilities * padded) return;
  const std::size_t k = i / padded;
  const int pixel = static_cast<int>(i % padded);
  const double2 turns = task.in.turns[task.first_visibility + k];
  T sine = 0, cosine = 0;
  if (pixel < half) {
    sincos_turns(turns.x * (pixel + 0.5), sine, cosine);
    task.in.phasors_u[k * task.side + pixel] = cosine;
    task.in.phasors_u[k * task.side + half + pixel] = sine;
    sincos_turns(turns.y * (pixel + 0.5), sine, cosine);
  }
  task.in.phasors_v[k * 2 * padded + pixel] = cosine;
  task.in.phasors_v[k * 2 * padded + padded + pixel] = sine;
}

/// Asynchronous copies to shared memory; nothing is read and zeros are written where `exists` is false.
template <class U>
__device__ __forceinline__ void copy_async(U* target, const U* source, bool exists) {
  static_assert(sizeof(U) == 4 || sizeof(U) == 8 || sizeof(U) == 16);
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(
                   static_cast<std::uint32_t>(__cvta_generic_to_shared(target))),
               "l"(source), "n"(sizeof(U)), "r"(exists ? static_cast<int>(sizeof(U)) : 0)
               : "memory");
}

/// Operands of one batch of visibilities.
template <class T>
struct Batch {
  static constexpr int kMost = 32, kPhasors = 16384 / sizeof(T), kPairs = kTileRows / 32 + 2;
  alignas(16) T phasors_v[kPhasors];              ///< [visibility][2 padded half]
  alignas(16) T phasors_u[kMost][kTileColumns];   ///< the tile's columns
  alignas(16) ComplexOf<T> terms[kMost][kPairs];  ///< the tile's (term, plane) pairs
};

template <class T>
__global__ void __launch_bounds__(kTileThreads, sizeof(T) == 4 ? 3 : 2) product(ProductTask<T> task) {
  constexpr int kRowsPerThread = 8, kColumnsPerThread = 4;
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  auto* batches = reinterpret_cast<Batch<T>*>(dynamic_shared);  // two: one is filled while the other is used
  const Geometry& g = task.geometry;
  const Task own = task.tasks[blockIdx.x];
  const int padded = padded_half(g.side), width_v = 2 * padded;
  const int batch_size = min(Batch<T>::kMost, Batch<T>::kPhasors / width_v);
  const int first_row = blockIdx.y * kTileRows, first_column = blockIdx.z * kTileColumns;
  const int my_row = (threadIdx.x / 8) * kRowsPerThread, my_column = (threadIdx.x % 8) * kColumnsPerThread;
  const int n_pairs = g.n_terms * g.n_planes, first_pair = first_row / (4 * padded);
  const int pairs_here =
      min(n_pairs - first_pair, (first_row + kTileRows - 1) / (4 * padded) - first_pair + 1);
  // This thread's rows: one pair and quadrant (re cos, re sin, im cos, im sin), eight pixels.
  const int my_pair = (first_row + my_row) / (4 * padded) - first_pair;
  const int quadrant = (first_row + my_row) / padded % 4;
  const int phasor = (quadrant & 1) * padded + (first_row + my_row) % padded;
  const bool idle = my_pair >= pairs_here;  // rows that only fill up the last tile

  auto fill = [&](Batch<T>& batch, std::uint32_t begin) {
    const int n = min(batch_size, static_cast<int>(own.n_visibilities) - static_cast<int>(begin));
    const std::size_t visibility = own.first_visibility + begin, chunk = visibility - task.first_phasor;
    for (int i = threadIdx.x; i < batch_size * width_v; i += kTileThreads)
      copy_async(&batch.phasors_v[i], task.in.phasors_v + chunk * width_v + i, i < n * width_v);
    for (int i = threadIdx.x; i < batch_size * kTileColumns; i += kTileThreads) {
      const int k = i / kTileColumns, column = first_column + i % kTileColumns;
      const bool exists = k < n && column < g.side;
      copy_async(&batch.phasors_u[k][i % kTileColumns],
                 task.in.phasors_u + (exists ? (chunk + k) * g.side + column : 0), exists);
    }
    for (int i = threadIdx.x; i < batch_size * pairs_here; i += kTileThreads) {
      const int k = i / pairs_here, pair = i % pairs_here;
      const bool exists = k < n;
      copy_async(&batch.terms[k][pair],
                 task.in.terms + (exists ? (visibility + k) * n_pairs + first_pair + pair : 0), exists);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };

  T sum[kRowsPerThread][kColumnsPerThread] = {};
  fill(batches[0], 0);
  int current = 0;
  for (std::uint32_t begin = 0; begin < own.n_visibilities; begin += batch_size, current ^= 1) {
    if (begin + batch_size < own.n_visibilities) {
      fill(batches[current ^ 1], begin + batch_size);
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
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
  T* out = task.products + (std::size_t(blockIdx.x) * task.n_rows_padded + first_row + my_row) * g.side;
#pragma unroll
  for (int i = 0; i < kRowsPerThread; ++i)
#pragma unroll
    for (int j = 0; j < kColumnsPerThread; ++j)
      if (first_column + my_column + j < g.side) out[i * g.side + first_column + my_column + j] = sum[i][j];
}

/// A block owns one subgrid, a thread four pixels at a time: (+-x, +-y). In float64: the division by the
/// taper at the end would magnify rounding in the corners of the image.
template <class T>
__global__ void combine(CombineTask<T> task) {
  const Geometry& g = task.geometry;
  const int half = g.side / 2, side = g.side, padded = padded_half(side);
  const int output = blockIdx.x, plane = blockIdx.y;
  const std::size_t own = blockIdx.z;
  const T* products = task.products + own * task.n_rows_padded * side;
  double2* image =
      task.images + ((own * g.n_planes + plane) * g.n_outputs + output) * std::size_t(side) * side;
  const int first_term = g.w_kernel ? output : 0, last_term = g.w_kernel ? output + 1 : g.n_terms;
  for (int pixel = threadIdx.x; pixel < half * half; pixel += blockDim.x) {
    const int y = pixel / half, x = pixel % half;
    double2 pp{0, 0}, pm{0, 0}, mp{0, 0}, mm{0, 0};
    for (int r = first_term; r < last_term; ++r) {
      const T* c = products + (std::size_t(r * g.n_planes + plane) * 4 * padded + y) * side + x;
      const T* re_sin = c + padded * side;
      const T* im_cos = re_sin + padded * side;
      const T* im_sin = im_cos + padded * side;
      const double rcc = c[0], rcs = c[half], rsc = re_sin[0], rss = re_sin[half];
      const double icc = im_cos[0], ics = im_cos[half], isc = im_sin[0], iss = im_sin[half];
      const double factor = task.coefficient[(std::size_t(g.w_kernel ? 0 : r) * half + y) * half + x];
      const int turn = g.w_kernel ? 0 : r & 3;  // (-i)^r
      auto add = [&](double2& sum, double re, double im) {
        const double turned_re = turn == 0 ? re : turn == 1 ? im : turn == 2 ? -re : -im;
        const double turned_im = turn == 0 ? im : turn == 1 ? -re : turn == 2 ? -im : re;
        sum.x += factor * turned_re;
        sum.y += factor * turned_im;
      };
      // V exp(-i (x theta_u + y theta_v)) for the four signs of x and y.
      add(pp, (rcc - rss) + (isc + ics), (icc - iss) - (rsc + rcs));
      add(pm, (rcc + rss) + (isc - ics), (icc + iss) - (rsc - rcs));
      add(mp, (rcc + rss) - (isc - ics), (icc + iss) + (rsc - rcs));
      add(mm, (rcc - rss) - (isc + ics), (icc - iss) + (rsc + rcs));
    }
    image[(half + y) * side + half + x] = pp;
    image[(half + y) * side + half - 1 - x] = pm;
    image[(half - 1 - y) * side + half + x] = mp;
    image[(half - 1 - y) * side + half - 1 - x] = mm;
  }
}

}  // namespace

template <class T>
void launch_prepare(const PrepareTask<T>& task, cudaStream_t stream) {
  prepare<<<(task.n_visibilities + 127) / 128, 128, 0, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the gridder's preparation");
}

template <class T>
void launch_phasors(const PhasorTask<T>& task, cudaStream_t stream) {
  const std::size_t n = task.n_visibilities * padded_half(task.side);
  make_phasors<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the gridder's phasors");
}

template <class T>
void launch_product(const ProductTask<T>& task, cudaStream_t stream) {
  constexpr int kSharedBytes = 2 * sizeof(Batch<T>);
  cuda_check(cudaFuncSetAttribute(product<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
             "asking for shared memory");
  const dim3 blocks(task.n_tasks, task.n_rows_padded / kTileRows,
                    (task.geometry.side + kTileColumns - 1) / kTileColumns);
  product<T><<<blocks, kTileThreads, kSharedBytes, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the gridder's product");
}

template <class T>
void launch_combine(const CombineTask<T>& task, cudaStream_t stream) {
  const dim3 blocks(task.geometry.n_outputs, task.geometry.n_planes, task.n_tasks);
  combine<<<blocks, 128, 0, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the gridder's quadrants");
}

template void launch_prepare(const PrepareTask<float>&, cudaStream_t);
template void launch_prepare(const PrepareTask<double>&, cudaStream_t);
template void launch_phasors(const PhasorTask<float>&, cudaStream_t);
template void launch_phasors(const PhasorTask<double>&, cudaStream_t);
template void launch_product(const ProductTask<float>&, cudaStream_t);
template void launch_product(const ProductTask<double>&, cudaStream_t);
template void launch_combine(const CombineTask<float>&, cudaStream_t);
template void launch_combine(const CombineTask<double>&, cudaStream_t);

}  // namespace apsyn::idg_cuda
