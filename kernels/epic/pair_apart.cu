// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/pair_apart.cuh"

#include "kernels/common/device_launch.cuh"

namespace apsyn::epic_cuda {
namespace {

constexpr int kApartPixels = 8;  ///< of a thread

/// Of a pair, turns over 2^32: along x, y and n (in units of 2^-30: whole and fraction of 2^-32), and what
/// stays.
struct __align__(16) PairTurns {
  std::uint32_t x, y, n, n_fraction;
};
struct __align__(16) ApartPair {
  PairTurns turns;
  float4 first, second;  // -2 V of the four products
};

/// turns modulo 1, of 2^32 to a turn
__device__ __forceinline__ std::uint32_t phase_of(double turns) {
  return static_cast<std::uint32_t>(__double2ull_rn((turns - floor(turns)) * 4294967296.0));
}

__global__ __launch_bounds__(kThreads) void sum_apart(const __grid_constant__ ApartTask task) {
  __shared__ ApartPair pairs[kThreads];
  __shared__ std::uint32_t fixed[kThreads];
  const std::size_t channel = blockIdx.y;
  const double hz = task.hz[channel];
  ApartPixel pixels[kApartPixels];
  const int first_pixel = blockIdx.x * kApartPixels * kThreads + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kApartPixels; ++i)
    pixels[i] = task.pixels[min(first_pixel + i * kThreads, task.n_pixel - 1)];
  float sums[kApartPixels][4] = {};
  for (int begin = 0; begin < task.n_pair; begin += kThreads) {
    const int n_here = min(kThreads, task.n_pair - begin), own = threadIdx.x;
    __syncthreads();
    if (own < n_here) {
      const uint2 at = task.pairs[begin + own];
      const double *a = task.uvw_s + 3 * at.x, *b = task.uvw_s + 3 * at.y;
      ApartPair pair;
      pair.turns.x = phase_of(hz * (a[0] - b[0]) * task.cell);
      pair.turns.y = phase_of(-hz * (a[1] - b[1]) * task.cell);
      const double w = hz * (b[2] - a[2]), step = w / kApartN - floor(w / kApartN),
                   whole = step * 4294967296.0;
      pair.turns.n = static_cast<std::uint32_t>(whole);
      pair.turns.n_fraction = phase_of(whole);
      fixed[own] = phase_of(-w);
      const std::size_t row = pair_row(task.shape.n_ant, static_cast<int>(at.x));
      const auto* values = reinterpret_cast<const float4*>(
          task.values + 4 * (channel * task.shape.n_pair() + row + at.y - at.x - 1));
      const float4 first = values[0], second = values[1];
      pair.first = make_float4(-2 * first.x, -2 * first.y, -2 * first.z, -2 * first.w);
      pair.second = make_float4(-2 * second.x, -2 * second.y, -2 * second.z, -2 * second.w);
      pairs[own] = pair;
    }
    __syncthreads();
    for (int i = 0; i < n_here; ++i) {
      const ApartPair pair = pairs[i];
      const std::uint32_t stays = fixed[i];
#pragma unroll
      for (int p = 0; p < kApartPixels; ++p) {
        const std::uint32_t n = pixels[p].n;
        const std::uint32_t turns = stays + pair.turns.x * static_cast<std::uint32_t>(pixels[p].x) +
                                    pair.turns.y * static_cast<std::uint32_t>(pixels[p].y) +
                                    pair.turns.n * n + __umulhi(pair.turns.n_fraction, n);
        // half a turn less, within +-1 / 2, is what turns the signs
        const float angle = fmaf(6.2831853f, __uint_as_float(turns >> 9 | 0x3F800000u), -9.424778f);
        float s, c;
        __sincosf(angle, &s, &c);
        sums[p][0] = fmaf(pair.first.x, c, fmaf(-pair.first.y, s, sums[p][0]));
        sums[p][1] = fmaf(pair.first.z, c, fmaf(-pair.first.w, s, sums[p][1]));
        sums[p][2] = fmaf(pair.second.x, c, fmaf(-pair.second.y, s, sums[p][2]));
        sums[p][3] = fmaf(pair.second.z, c, fmaf(-pair.second.w, s, sums[p][3]));
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kApartPixels; ++i) {
    const int pixel = first_pixel + i * kThreads;
    if (pixel >= task.n_pixel) break;
    double* to = task.sums + (channel * task.n_stride + pixel) * 4;
#pragma unroll
    for (int product = 0; product < 4; ++product)
      if (product < task.shape.n_product) to[product] += static_cast<double>(sums[i][product]);
  }
}

}  // namespace

void launch_sum_apart(const ApartTask& task, cudaStream_t stream) {
  const dim3 grid(blocks_of((static_cast<std::size_t>(task.n_pixel) + kApartPixels - 1) / kApartPixels),
                  static_cast<unsigned>(task.n_channel));
  sum_apart<<<grid, kThreads, 0, stream>>>(task);
  launched("summing pairs that stand apart");
}

}  // namespace apsyn::epic_cuda
