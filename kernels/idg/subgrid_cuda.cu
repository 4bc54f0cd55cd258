// SPDX-License-Identifier: GPL-3.0-or-later
// From visibilities to the images of subgrids. The product is a register-tiled real matrix product on CUDA
// cores: a block owns 256 (or 128) rows x 32 columns of one task and makes its operands in shared memory, 32
// visibilities at a time; each thread keeps 8 (or 4) rows x 4 columns. Phases are reduced to turns in float64
// first, so that single precision loses nothing to large arguments.
#include "kernels/common/cuda_check.h"
#include "kernels/idg/idg_kernels.cuh"

namespace apsyn::idg_cuda {
namespace {

/// Between visibilities of A and of B in shared memory: one vector, so that a batch's rows start in different
/// banks.
template <class T>
constexpr int kPad = 16 / sizeof(T);
/// Visibilities made at once.
template <class T>
constexpr int kBatchOf = 128 / sizeof(T);

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
  T* terms = task.out.terms + std::size_t(k) * g.n_terms;
  double w_phase;
  if (g.w_kernel) {
    w_phase = w * (g.n_middle - 1);
    for (int r = 0; r < g.n_terms; ++r) {
      const double t = (w - (own.w_lambda + r * g.layer_step_lambda)) / g.half_w_lambda;
      terms[r] = t * t < 1 ? static_cast<T>(exp(g.kernel_beta * (sqrt(1 - t * t) - 1))) : T(0);
    }
  } else {
    const double dw = w - own.w_lambda, t = dw / g.half_w_lambda;
    w_phase = dw * (g.n_middle - 1);
    double before = 1, now = t;
    terms[0] = T(1);
    for (int r = 1; r < g.n_terms; ++r) {
      terms[r] = static_cast<T>(now);
      const double next = 2 * t * now - before;
      before = now;
      now = next;
    }
  }
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
        const double2 value = task.data[std::size_t(cell) * g.n_data_planes + plane];
        re = weight * (value.x * cosine - value.y * sine);
        im = weight * (value.x * sine + value.y * cosine);
      }
    }
    if (conjugate) im = -im;
    ComplexOf<T> out;
    out.x = static_cast<T>(re * w_cosine - im * w_sine);
    out.y = static_cast<T>(re * w_sine + im * w_cosine);
    task.out.values[std::size_t(k) * g.n_planes + plane] = out;
  }
}

/// Row of A: which term, plane, part of the value and pixel. quadrant: re cos, re sin, im cos, im sin.
struct RowMeaning {
  int term, plane, quadrant, y;
  __device__ RowMeaning(int row, const Geometry& g) {
    const int half = g.side / 2;
    y = row % half;
    quadrant = row / half % 4;
    plane = row / (2 * g.side) % g.n_planes;
    term = row / (2 * g.side) / g.n_planes;
  }
};

template <class T, int kRowsPerThread>
__global__ void __launch_bounds__(kTileThreads) product(ProductTask<T> task) {
  constexpr int kRows = 32 * kRowsPerThread, kRowStride = kRows + kPad<T>,
                kColumnStride = kTileColumns + kPad<T>;
  constexpr int kBatch = kBatchOf<T>;
  __shared__ alignas(16)
      T a[kBatch / 2][kRowStride];  // half a batch at a time, for more blocks on a processor
  __shared__ alignas(16) T b[kBatch][kColumnStride];
  __shared__ T phasor_v[kBatch][kMaxSubgrid + 1];  // [cos | sin][y]
  const Geometry& g = task.geometry;
  const Task own = task.tasks[blockIdx.x];
  const int half = g.side / 2, first_row = blockIdx.y * kRows, first_column = blockIdx.z * kTileColumns;
  const int n_rows = g.n_terms * g.n_planes * 2 * g.side;
  const int my_row = (threadIdx.x / 8) * kRowsPerThread, my_column = (threadIdx.x % 8) * 4;
  T sum[kRowsPerThread][4] = {};
  // What this thread generates: always the same row of A, so its meaning is worked out once.
  constexpr int kMakers = kTileThreads / kRows;  // threads per row
  const RowMeaning meaning(first_row + static_cast<int>(threadIdx.x) % kRows, g);
  const bool row_exists = first_row + static_cast<int>(threadIdx.x) % kRows < n_rows;

  for (std::uint32_t begin = 0; begin < own.n_visibilities; begin += kBatch) {
    const int n = min(kBatch, static_cast<int>(own.n_visibilities - begin));
    const std::size_t first = own.first_visibility + begin;
    __syncthreads();
    for (int i = threadIdx.x; i < kBatch * half; i += kTileThreads) {
      const int k = i / half, y = i % half;
      T sine = 0, cosine = 0;
      if (k < n) sincos_turns(task.in.turns[first + k].y * (y + 0.5), sine, cosine);
      phasor_v[k][y] = cosine;
      phasor_v[k][half + y] = sine;
    }
    for (int i = threadIdx.x; i < kBatch * kTileColumns; i += kTileThreads) {
      const int k = i / kTileColumns, column = first_column + i % kTileColumns;
      T sine = 0, cosine = 0;
      if (k < n && column < g.side)
        sincos_turns(task.in.turns[first + k].x * ((column < half ? column : column - half) + 0.5), sine,
                     cosine);
      b[k][i % kTileColumns] = column < half ? cosine : sine;
    }
    for (int part = 0; part < kBatch; part += kBatch / 2) {
      __syncthreads();
      for (int k = static_cast<int>(threadIdx.x) / kRows; k < kBatch / 2; k += kMakers) {
        T value = 0;
        if (part + k < n && row_exists) {
          const std::size_t visibility = first + part + k;
          const ComplexOf<T> v = task.in.values[visibility * g.n_planes + meaning.plane];
          value = (meaning.quadrant < 2 ? v.x : v.y) * task.in.terms[visibility * g.n_terms + meaning.term] *
                  phasor_v[part + k][(meaning.quadrant & 1) * half + meaning.y];
        }
        a[k][threadIdx.x % kRows] = value;
      }
      __syncthreads();
#pragma unroll 4
      for (int k = 0; k < kBatch / 2; ++k) {
        T row_value[kRowsPerThread], column_value[4];
#pragma unroll
        for (int i = 0; i < kRowsPerThread; ++i) row_value[i] = a[k][my_row + i];
#pragma unroll
        for (int j = 0; j < 4; ++j) column_value[j] = b[part + k][my_column + j];
#pragma unroll
        for (int i = 0; i < kRowsPerThread; ++i)
#pragma unroll
          for (int j = 0; j < 4; ++j) sum[i][j] += row_value[i] * column_value[j];
      }
    }
  }
  T* out = task.products + std::size_t(blockIdx.x) * task.n_rows_padded * g.side;
#pragma unroll
  for (int i = 0; i < kRowsPerThread; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (first_column + my_column + j < g.side)
        out[std::size_t(first_row + my_row + i) * g.side + first_column + my_column + j] = sum[i][j];
}

/// A block owns one subgrid, a thread four pixels at a time: (+-x, +-y). In float64: the division by the
/// taper at the end would magnify rounding in the corners of the image.
template <class T>
__global__ void combine(CombineTask<T> task) {
  const Geometry& g = task.geometry;
  const int half = g.side / 2, side = g.side;
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
      const T* c = products + std::size_t(r * g.n_planes + plane) * 2 * side * side + y * side + x;
      const T* re_sin = c + half * side;
      const T* im_cos = re_sin + half * side;
      const T* im_sin = im_cos + half * side;
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

int rows_padded(int n_rows) {
  const int remainder = n_rows % 256;
  return n_rows - remainder + (remainder == 0 ? 0 : remainder <= 128 && n_rows < 256 ? 128 : 256);
}

template <class T>
void launch_prepare(const PrepareTask<T>& task, cudaStream_t stream) {
  prepare<<<(task.n_visibilities + 127) / 128, 128, 0, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the gridder's preparation");
}

template <class T>
void launch_product(const ProductTask<T>& task, cudaStream_t stream) {
  const unsigned n_column_tiles = (task.geometry.side + kTileColumns - 1) / kTileColumns;
  if (task.n_rows_padded == 128)
    product<T, 4><<<dim3(task.n_tasks, 1, n_column_tiles), kTileThreads, 0, stream>>>(task);
  else
    product<T, 8>
        <<<dim3(task.n_tasks, task.n_rows_padded / 256, n_column_tiles), kTileThreads, 0, stream>>>(task);
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
template void launch_product(const ProductTask<float>&, cudaStream_t);
template void launch_product(const ProductTask<double>&, cudaStream_t);
template void launch_combine(const CombineTask<float>&, cudaStream_t);
template void launch_combine(const CombineTask<double>&, cudaStream_t);

}  // namespace apsyn::idg_cuda
