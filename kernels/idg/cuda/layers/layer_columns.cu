// SPDX-License-Identifier: GPL-3.0-or-later
// A column of n_v cells is too long for several of them to fit on an SM. So, decimated in time, n_v = q
// kPart, v = q i + r,
//
//   X[k] = sum_r exp(-2 pi i k r / n_v) Y_r[k mod kPart],   Y_r the transform of the cells of rows r mod q:
//
// a block transforms kPart rows of some columns, adds their part of every pixel to sums in registers, and
// goes on with the next layer, then the next r; meanwhile the next 64 KB arrive. Rows of the image that share
// k mod kPart are told apart by the turns of r alone, and where the taper is low they hold far less than
// those they are told apart from: turns come from tables in float64. The w screen is the same for all r, so
// that what its fast sine errs by is a pixel's own.
#include "kernels/idg/cuda/layers/layer_columns.cuh"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/common/cuda/check.h"
#include "kernels/common/cuda/radix.cuh"
#include "kernels/common/cuda/sm90/async_copy.cuh"
#include "kernels/common/cuda/sm90/shared_memory.cuh"

namespace apsyn::idg_cuda {
namespace {

constexpr int kColumnThreads = 512;

/// 16 x 16 x kLast_ cells of as many columns as threads hold in registers, 16 cells each. Cell kOwners a + j
/// of a column stands at a kPitch + j: an odd number of places from one a to the next keeps the lanes of the
/// last pass apart.
/// kMaxReps: rows of the image that share one of kPart values, as many as registers hold sums for.
template <int kLast_, int kMaxReps_>
struct Shape {
  static constexpr int kLast = kLast_, kMaxReps = kMaxReps_, kPart = 256 * kLast, kOwners = kPart / 16,
                       kColumns = kColumnThreads / kOwners, kPitch = kOwners + 1,
                       kBufferCells = 16 * kPitch * kColumns;
  static constexpr int shared_bytes(int n_y) {
    return 2 * kBufferCells * int(sizeof(float2)) + (n_y / 2 + 1) * kColumns * int(sizeof(double));
  }
};
using Long = Shape<16, 3>;
using Short = Shape<8, 2>;

/// Hides the value from the compiler, so that it does not keep numbers derived from it from one iteration of
/// a loop to the next: registers are scarce.
[[maybe_unused]] __device__ __forceinline__ int forget(int value) {
  asm volatile("" : "+r"(value));
  return value;
}

template <class S, int kReps>
__global__ void __launch_bounds__(kColumnThreads, 1)
    transform_columns(ColumnsTask columns, int n_right, int first_left) {
#if __CUDA_ARCH__ != 860 && __CUDA_ARCH__ != 890  // whose shared memory is too small
  const ScreenTask<float>& task = columns.screen;
  extern __shared__ __align__(16) float2 buffers[];  // two; then n - 1 + n_shift [|y - n_y/2|][column]
  constexpr int kColumns = S::kColumns, kOwners = S::kOwners, kPitch = S::kPitch, kPart = S::kPart;
  auto* n_table = reinterpret_cast<double*>(buffers + 2 * S::kBufferCells);
  const int group = int(blockIdx.x) < n_right ? blockIdx.x : blockIdx.x - n_right + first_left;
  const int plane = blockIdx.y, half = task.n_y / 2, n_parts = task.n_v / kPart;
  const float2 *turn_a = columns.turns, *turn_b = turn_a + kPart, *turn_r = turn_b + 16 * S::kLast;
  auto x_of = [&](int c) {
    const int u = group * kColumns + c, x = task.n_x / 2 - u;
    return x < 0 ? x + task.n_u : x;
  };

  const int n_steps = n_parts * task.n_layers;
  auto fetch = [&](int step) {
    const int layer = step % task.n_layers, part = step / task.n_layers;
    constexpr int kChunks = kColumns / 2, kRowsAtOnce = kColumnThreads / kChunks;  // of 16 bytes
    const int thread = forget(threadIdx.x), i = thread / kChunks, pair = thread % kChunks * 2;
    const float2* from =
        task.layers[layer].cells + std::size_t(plane) * task.n_v * task.n_u + group * kColumns + pair;
    float2* to =
        buffers + step % 2 * S::kBufferCells + (i / kOwners * kPitch + i % kOwners) * kColumns + pair;
#pragma unroll
    for (int k = 0; k < kPart / kRowsAtOnce; ++k) {
      const int v = (i + kRowsAtOnce * k) * n_parts + part;
      ptx::copy_16_of_line_or_zeros(ptx::shared_address(to + k * (kRowsAtOnce / kOwners) * kPitch * kColumns),
                                    from + std::size_t(v) * task.n_u,
                                    columns.strip_used[layer][v / kGridTile] != 0);
    }
    ptx::commit_copies();
  };
  fetch(0);

  for (int i = threadIdx.x; i < (half + 1) * kColumns; i += kColumnThreads) {
    const double l = (task.n_x / 2 - x_of(i % kColumns)) * task.cell_rad, m = i / kColumns * task.cell_rad;
    const double r2 = l * l + m * m;
    // Below the horizon the image is NaN in the end.
    n_table[i] = (r2 < 1 ? -r2 / (1 + sqrt(1 - r2)) : 0.0) + task.n_shift;
  }
  float sum[16][kReps] = {};

  for (int step = 0; step < n_steps; ++step) {
    ptx::wait_for_copies<0>();
    __syncthreads();
    if (step + 1 < n_steps) fetch(step + 1);
    const int thread = forget(threadIdx.x), own = thread / kColumns, column = thread % kColumns;
    float2* cells = buffers + step % 2 * S::kBufferCells + column;
    float2 x[16];
    {
      float2* at = cells + own * kColumns;
#pragma unroll
      for (int a = 0; a < 16; ++a) x[a] = at[a * kPitch * kColumns];
      radix::Transform<16>::run(x);
#pragma unroll
      for (int a = 1; a < 16; ++a) x[a] = radix::multiply(x[a], __ldg(turn_a + a * kOwners + own));
#pragma unroll
      for (int a = 0; a < 16; ++a) at[a * kPitch * kColumns] = x[a];
    }
    __syncthreads();
    {
      const int last = own % S::kLast;
      float2* at = cells + (own / S::kLast * kPitch + last) * kColumns;
#pragma unroll
      for (int b = 0; b < 16; ++b) x[b] = at[b * S::kLast * kColumns];
      radix::Transform<16>::run(x);
#pragma unroll
      for (int b = 1; b < 16; ++b) x[b] = radix::multiply(x[b], __ldg(turn_b + b * S::kLast + last));
#pragma unroll
      for (int b = 0; b < 16; ++b) at[b * S::kLast * kColumns] = x[b];
    }
    __syncthreads();
    const int part = step / task.n_layers;
    const double minus_w = -task.layers[step % task.n_layers].w_lambda;
    constexpr int kButterflies = 16 / S::kLast;
#pragma unroll
    for (int t = 0; t < kButterflies; ++t) {
      const int i = own + kOwners * t, first_y = forget(own) + half;
      const float2* at = cells + (i % 16 * kPitch + i / 16 * S::kLast) * kColumns;
#pragma unroll
      for (int c = 0; c < S::kLast; ++c) x[c] = at[c * kColumns];
      radix::Transform<S::kLast>::run(x);
#pragma unroll
      for (int c = 0; c < S::kLast; ++c) {
        const int g = t + kButterflies * c, first = (first_y + kOwners * g) & (kPart - 1);
        if (part > 0) x[c] = radix::multiply(x[c], __ldg(turn_r + part * (kPart + S::kMaxReps) + first));
#pragma unroll
        for (int rep = 0; rep < kReps; ++rep) {
          const int y = first + kPart * rep;
          if (y >= task.n_y) continue;
          // Turns, by the last 32 bits in units of 2^-32.
          const double turns = fma(minus_w, n_table[abs(y - half) * kColumns + column], 0x1.8p20);
          const float angle = static_cast<float>(__double2loint(turns)) * (6.2831853f * 0x1p-32f);
          float sine, cosine;
          __sincosf(angle, &sine, &cosine);
          float2 value = x[c];
          if (rep > 0 && part > 0)
            value = radix::multiply(value, __ldg(turn_r + part * (kPart + S::kMaxReps) + kPart + rep));
          sum[g][rep] += value.x * cosine - value.y * sine;
        }
      }
    }
  }

  const int first_y = threadIdx.x / kColumns + half, x = x_of(threadIdx.x % kColumns);
  if (x >= task.n_x) return;
#pragma unroll
  for (int g = 0; g < 16; ++g)
#pragma unroll
    for (int rep = 0; rep < kReps; ++rep) {
      const int y = ((first_y + kOwners * g) & (kPart - 1)) + kPart * rep;
      if (y < task.n_y) task.image[(std::size_t(plane) * task.n_y + y) * task.n_x + x] += sum[g][rep];
    }
#endif
}

template <class S, int kReps>
void launch(const ColumnsTask& columns, cudaStream_t stream) {
  const ScreenTask<float>& task = columns.screen;
  const auto kernel = transform_columns<S, kReps>;
  const int bytes = S::shared_bytes(task.n_y);
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
             "asking for shared memory");
  // Columns 0 .. n_x/2 and those before n_u, in groups.
  const int n_right = task.n_x / 2 / S::kColumns + 1;
  const int first_left = std::max(n_right, (task.n_u - (task.n_x - 1 - task.n_x / 2)) / S::kColumns);
  const dim3 blocks(n_right + task.n_u / S::kColumns - first_left, task.n_planes);
  kernel<<<blocks, kColumnThreads, bytes, stream>>>(columns, n_right, first_left);
  cuda_check(cudaGetLastError(), "launching the transform of columns");
}

template <class S>
void launch(const ColumnsTask& columns, cudaStream_t stream) {
  switch ((columns.screen.n_y + S::kPart - 1) / S::kPart) {
    case 1:
      return launch<S, 1>(columns, stream);
    case 2:
      return launch<S, 2>(columns, stream);
    default:
      return launch<S, S::kMaxReps>(columns, stream);
  }
}

template <class S>
bool fits(int n_u, int n_v, int n_y, int max_shared) {
  return n_u % S::kColumns == 0 && n_v % S::kPart == 0 && n_y <= S::kMaxReps * S::kPart &&
         S::shared_bytes(n_y) <= max_shared;
}

int max_shared_bytes() {
  int device = 0, bytes = 0;
  cuda_check(cudaGetDevice(&device), "asking for the device");
  cuda_check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
             "asking for the device's shared memory");
  return bytes;
}

bool is_long(int n_u, int n_v, int n_y) {
  return fits<Long>(n_u, n_v, n_y, max_shared_bytes());
}

}  // namespace

bool has_columns(int n_u, int n_v, int n_y) {
  return is_long(n_u, n_v, n_y) || fits<Short>(n_u, n_v, n_y, max_shared_bytes());
}

std::vector<float2> column_turns(int n_u, int n_v, int n_y) {
  const bool is_of_long = is_long(n_u, n_v, n_y);
  const int last = is_of_long ? Long::kLast : Short::kLast, n_part = 256 * last,
            max_reps = is_of_long ? Long::kMaxReps : Short::kMaxReps;
  std::vector<float2> turns;
  auto add = [&](long turn, int of) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(turn % of) / of;
    turns.push_back({static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
  };
  for (int a = 0; a < 16; ++a)
    for (int j = 0; j < n_part / 16; ++j) add(a * j, n_part);
  for (int b = 0; b < 16; ++b)
    for (int c = 0; c < last; ++c) add(b * c, 16 * last);
  for (int part = 0; part < n_v / n_part; ++part) {
    for (int y = 0; y < n_part; ++y) add(long(part) * (y - n_y / 2), n_v);
    for (int rep = 0; rep < max_reps; ++rep) add(long(part) * rep, n_v / n_part);
  }
  return turns;
}

void launch_columns(const ColumnsTask& task, cudaStream_t stream) {
  if (is_long(task.screen.n_u, task.screen.n_v, task.screen.n_y))
    launch<Long>(task, stream);
  else
    launch<Short>(task, stream);
}

}  // namespace apsyn::idg_cuda
