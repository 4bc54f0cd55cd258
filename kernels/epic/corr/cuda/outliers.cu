// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/corr/cuda/outliers.cuh"

#include "kernels/common/cuda/launch.cuh"

namespace apsyn::epic_cuda {
namespace {

constexpr int kOutlierThreads = 64, kOutlierPairs = kOutlierThreads;

/// Phases of a pair in turns times 2^32: along x, y and n (the latter in units of 2^-30: whole and fraction
/// of 2^-32).
struct __align__(16) PairTurns {
  std::uint32_t x, y, n, n_fraction;
};
struct __align__(16) OutlierPair {
  PairTurns turns;
  float4 first, second;  // -2 V of the four products
  float2 step;           // exp(2 pi i) of the turns along y
  std::uint32_t fixed;   // turns
};

/// turns modulo 1, of 2^32 to a turn
__device__ __forceinline__ std::uint32_t phase_of(double turns) {
  return static_cast<std::uint32_t>(__double2ull_rn((turns - floor(turns)) * 4294967296.0));
}
/// Cosine and sine of turns / 2^32 plus half a turn, which reverses their signs.
__device__ __forceinline__ float2 turned_back(std::uint32_t turns) {
  const float angle = fmaf(6.2831853f, __uint_as_float(turns >> 9 | 0x3F800000u), -9.424778f);
  float2 turned;
  __sincosf(angle, &turned.y, &turned.x);
  return turned;
}
__device__ __forceinline__ float2 multiply(float2 a, float2 b) {
  return make_float2(fmaf(a.x, b.x, -a.y * b.y), fmaf(a.x, b.y, a.y * b.x));
}

__device__ __forceinline__ OutlierPair pair_of(const OutlierTask& task, std::size_t channel, uint2 at) {
  const double hz = task.hz[channel], *a = task.uvw_s + 3 * at.x, *b = task.uvw_s + 3 * at.y;
  OutlierPair pair;
  pair.turns.x = phase_of(hz * (a[0] - b[0]) * task.cell);
  pair.turns.y = phase_of(-hz * (a[1] - b[1]) * task.cell);
  const double w = hz * (b[2] - a[2]), step = w / kOutlierN - floor(w / kOutlierN),
               whole = step * 4294967296.0;
  pair.turns.n = static_cast<std::uint32_t>(whole);
  pair.turns.n_fraction = phase_of(whole);
  pair.fixed = phase_of(-w);
  const float2 back = turned_back(pair.turns.y);
  pair.step = make_float2(-back.x, -back.y);
  const std::size_t row = pair_row(task.shape.n_ant, static_cast<int>(at.x));
  const auto* values = reinterpret_cast<const float4*>(
      task.values + 4 * (channel * task.shape.n_pair() + row + at.y - at.x - 1));
  const float4 first = values[0], second = values[1];
  pair.first = make_float4(-2 * first.x, -2 * first.y, -2 * first.z, -2 * first.w);
  pair.second = make_float4(-2 * second.x, -2 * second.y, -2 * second.z, -2 * second.w);
  return pair;
}

/// Sums for one product: E = -2 V exp(2 pi i w n) times cosines and sines along x and y, which the four
/// pixels (+-x, +-y) share:
///   Re(E exp(i (+-x +-y))) = Re E (cos x cos y -+ sin x sin y) - Im E (+-sin x cos y +- cos x sin y).
struct Quarters {
  float cos_cos = 0, sin_sin = 0, sin_cos = 0, cos_sin = 0;
  __device__ __forceinline__ void add(float re, float im, float2 turn, const Quarters& by) {
    const float e = fmaf(re, turn.x, -im * turn.y), f = fmaf(re, turn.y, im * turn.x);
    cos_cos = fmaf(e, by.cos_cos, cos_cos);
    sin_sin = fmaf(e, by.sin_sin, sin_sin);
    sin_cos = fmaf(f, by.sin_cos, sin_cos);
    cos_sin = fmaf(f, by.cos_sin, cos_sin);
  }
  __device__ __forceinline__ float of(int quarter) const {
    const float x = quarter % 2 == 0 ? 1.0f : -1.0f, y = quarter / 2 == 0 ? 1.0f : -1.0f;
    return cos_cos - x * y * sin_sin - x * sin_cos - y * cos_sin;
  }
};

/// A thread for each run of rows.
__global__ __launch_bounds__(kOutlierThreads) void sum_outliers(const __grid_constant__ OutlierTask task) {
  __shared__ OutlierPair pairs[kOutlierPairs];
  const std::size_t image = blockIdx.y, channel = image * task.shape.n_average + task.nth;
  const int own = blockIdx.x * kOutlierThreads + threadIdx.x;
  const OutlierRun& run = task.runs[min(own, task.n_run - 1)];
  const std::uint32_t x = run.x, y = run.y;
  std::uint32_t n[kOutlierRows];
#pragma unroll
  for (int row = 0; row < kOutlierRows; ++row) n[row] = run.n[row];
  Quarters sums[kOutlierRows][4];
  for (int begin = 0; begin < task.n_pair; begin += kOutlierPairs) {
    const int n_here = min(kOutlierPairs, task.n_pair - begin);
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < n_here)
      pairs[threadIdx.x] = pair_of(task, channel, task.pairs[begin + threadIdx.x]);
    __syncthreads();
    for (int i = 0; i < n_here; ++i) {
      const OutlierPair& pair = pairs[i];
      const PairTurns turns = pair.turns;
      const float4 first = pair.first, second = pair.second;
      const float2 along_x = turned_back(turns.x * x);
      float2 along_y = turned_back(turns.y * y);
#pragma unroll
      for (int row = 0; row < kOutlierRows; ++row) {
        const float2 turn = turned_back(pair.fixed + turns.n * n[row] + __umulhi(turns.n_fraction, n[row]));
        const Quarters by{along_x.x * along_y.x, along_x.y * along_y.y, along_x.y * along_y.x,
                          along_x.x * along_y.y};
        sums[row][0].add(first.x, first.y, turn, by);
        sums[row][1].add(first.z, first.w, turn, by);
        sums[row][2].add(second.x, second.y, turn, by);
        sums[row][3].add(second.z, second.w, turn, by);
        along_y = multiply(along_y, pair.step);
      }
    }
  }
  if (own >= task.n_run) return;
  double* to = task.sums + image * task.n_stride * 4;
#pragma unroll
  for (int row = 0; row < kOutlierRows; ++row)
#pragma unroll
    for (int quarter = 0; quarter < 4; ++quarter) {
      const std::uint32_t pixel = run.pixels[row][quarter];
      if (pixel == kNoPixel) continue;
#pragma unroll
      for (int product = 0; product < 4; ++product)
        if (product < task.shape.n_product)
          to[std::size_t(pixel) * 4 + product] += static_cast<double>(sums[row][product].of(quarter));
    }
}

}  // namespace

void launch_sum_outliers(const OutlierTask& task, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((task.n_run + kOutlierThreads - 1) / kOutlierThreads),
                  static_cast<unsigned>(task.n_image));
  sum_outliers<<<grid, kOutlierThreads, 0, stream>>>(task);
  launched("summing pairs that stand apart");
}

}  // namespace apsyn::epic_cuda
