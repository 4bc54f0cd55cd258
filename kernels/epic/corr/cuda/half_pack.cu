// SPDX-License-Identifier: GPL-3.0-or-later
// What corr/cuda/half.cu multiplies: matrices and weights in halves.
#include <cuda_fp8.h>

#include "kernels/common/cuda/launch.cuh"
#include "kernels/epic/corr/cuda/half.cuh"
#include "kernels/epic/corr/cuda/values.cuh"
#include "kernels/epic/cuda/turns.cuh"

namespace apsyn::epic_cuda {
namespace {

constexpr int kChunk = 8;  // halves of 16 bytes
constexpr int kFragmentThreads = 128;

/// sums |V_ij| <= sqrt(V_ii V_jj): no pair is larger than the largest power times the largest weight.
__global__ void half_units(PairTask task, double* unit) {
  const PairValues channel(task, blockIdx.x);
  double power = 0, weight = channel.weights == nullptr ? 1 : 0;
  for (int i = threadIdx.x; i < channel.n_input; i += 32)
    power = fmax(power, channel.turned(channel.sum(i, i), i, i, 1).x);
  const int n_pair = channel.weights == nullptr ? 0 : task.n_ant * (task.n_ant - 1) / 2;
  for (int pair = threadIdx.x; pair < n_pair; pair += 32)
    weight = fmax(weight, static_cast<double>(channel.weights[pair]));
  for (int step = 16; step > 0; step /= 2) {
    power = fmax(power, __shfl_xor_sync(~0u, power, step));
    weight = fmax(weight, __shfl_xor_sync(~0u, weight, step));
  }
  if (threadIdx.x > 0) return;
  const double largest = power * weight;
  unit[blockIdx.x] = largest > 0 ? exp2(ceil(log2(largest)) - 14) : 1;
}

union HalfChunk {
  int4 bytes;
  __half value[kChunk];
};

__device__ __forceinline__ double2 conj(double2 v) {
  return {v.x, -v.y};
}

/// V_pq of antennas a, b in either order, in units.
struct FourValues {
  double2 xx{}, yy{}, xy{}, yx{};
  __device__ FourValues(const PairValues& channel, int a, int b, double scale) {
    const int i = min(a, b), j = max(a, b);
    xx = channel.value(i, 0, j, 0), yy = channel.value(i, 1, j, 1);
    xy = channel.value(i, 0, j, 1), yx = channel.value(i, 1, j, 0);
    if (a > b) {
      const double2 swapped = conj(yx);
      xx = conj(xx), yy = conj(yy), yx = conj(xy), xy = swapped;
    }
    for (double2* v : {&xx, &yy, &xy, &yx}) v->x *= scale, v->y *= scale;
  }
};

union ByteChunk {
  int4 bytes;
  __nv_fp8_storage_t value[2 * kChunk];
};

/// Of 16 antennas, where wgmma takes one whose weight is in a lane's fragment of halves: 4 of a lane after
/// the other.
__device__ __forceinline__ int eight_bit_place(int antenna) {
  return antenna % 8 / 2 * 4 + antenna / 8 * 2 + antenna % 2;
}
__device__ __forceinline__ __nv_fp8_storage_t eight_bits(double value) {
  return __nv_cvt_float_to_fp8(static_cast<float>(value), __NV_SATFINITE, __NV_E4M3);
}

/// A thread packs the pairs of one antenna a and sixteen b.
template <bool kExact>
__global__ __launch_bounds__(kThreads) void half_matrices(PairTask task, const double* unit,
                                                          HalfLayout layout, char* to) {
  const int n_blocks = layout.n_blocks(), n_padded = n_blocks * kHalfBlock, n_runs = n_padded / (2 * kChunk);
  const std::size_t at = this_thread();
  const int run = at % n_runs, a = at / n_runs % n_padded;
  const std::size_t chan = at / n_runs / n_padded;
  if (chan >= std::size_t(task.n_channel)) return;
  const PairValues channel(task, chan);
  const double scale = 1 / unit[chan];
  HalfChunk whole[2][2][2] = {};  // [matrix][re, im][eight]
  ByteChunk adjoint[kExact ? 2 : 1][2] = {}, rest[kExact ? 2 : 1][2] = {};
#pragma unroll
  for (int i = 0; i < 2 * kChunk; ++i) {
    const int b = run * 2 * kChunk + i;
    if (a == b || a >= task.n_ant || b >= task.n_ant) continue;
    const FourValues v(channel, a, b, scale);
    const double parts[2][2] = {{v.xx.x - v.yy.y, v.xx.y + v.yy.x}, {v.xy.x, v.xy.y}};
#pragma unroll
    for (int m = 0; m < 2; ++m)
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        const __half high = __double2half(parts[m][part]);
        whole[m][part][i / kChunk].value[i % kChunk] = high;
        if constexpr (kExact)
          rest[m][part].value[eight_bit_place(i)] =
              eight_bits(kEightBitsOfRest * (parts[m][part] - static_cast<double>(__half2float(high))));
      }
    if constexpr (kExact) {
      adjoint[0][0].value[eight_bit_place(i)] = eight_bits(kEightBitsOfWhole * (v.xx.x + v.yy.y));
      adjoint[0][1].value[eight_bit_place(i)] = eight_bits(kEightBitsOfWhole * (v.xx.y - v.yy.x));
      adjoint[1][0].value[eight_bit_place(i)] = eight_bits(kEightBitsOfWhole * v.yx.x);
      adjoint[1][1].value[eight_bit_place(i)] = eight_bits(kEightBitsOfWhole * v.yx.y);
    }
  }
  const int row = a % kHalfBlock, block = a / kHalfBlock;
  char* matrix = to + chan * layout.channel_bytes();
  const auto place = [&](int n_tiles, int tile, int chunk, int part) {
    return (std::size_t(block) * n_tiles + tile) * kPairTileBytes + part * (kPairTileBytes / 2) + row * 128 +
           (chunk ^ (row & 7)) * 16;
  };
#pragma unroll
  for (int m = 0; m < 2; ++m, matrix += layout.matrix_bytes())
#pragma unroll
    for (int part = 0; part < 2; ++part)
#pragma unroll
      for (int eight = 0; eight < 2; ++eight)
        *reinterpret_cast<int4*>(matrix + place(n_blocks, run / 4, run % 4 * 2 + eight, part)) =
            whole[m][part][eight].bytes;
  if constexpr (kExact) {
#pragma unroll
    for (int m = 0; m < 4; ++m, matrix += layout.matrix_bytes() / 2)
#pragma unroll
      for (int part = 0; part < 2; ++part)
        *reinterpret_cast<int4*>(matrix + place(n_blocks / 2, run / 8, run % 8, part)) =
            (m < 2 ? adjoint : rest)[m % 2][part].bytes;
  }
}

/// A thread makes a thread's fragments of a step: rows (pixels) r, r + 8, columns (antennas) 2 q, 2 q + 1 and
/// those 8 further.
template <bool kExact>
__global__ __launch_bounds__(kThreads) void half_weights(WeightTask sky, int first_pixel, HalfLayout layout,
                                                         char* weights) {
  constexpr int kLimbs = kExact ? 2 : 1;
  std::size_t at = this_thread();
  const int thread = at % kFragmentThreads, n_steps = layout.n_blocks() * kHalfBlock / 16;
  at /= kFragmentThreads;
  const int step = at % n_steps;
  at /= n_steps;
  const int tile = at % layout.n_tiles(), channel = static_cast<int>(at / layout.n_tiles());
  if (channel >= layout.n_channel) return;
  const int row = thread / 32 * 16 + thread % 32 / 4, quarter = thread % 4;
  HalfChunk parts[kLimbs][2] = {};
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {  // register i / 2: rows 8 further in the odd ones
    const int pixel = tile * kFormPixels + row + i / 2 % 2 * 8;
    const int ant = step * 16 + i / 4 * 8 + 2 * quarter + i % 2;
    if (pixel >= layout.n_pixel || ant >= layout.n_ant) continue;
    const float2 w = weight_of(sky, sky.unit + 3 * std::size_t(first_pixel + pixel), sky.hz[channel], ant);
    const float value[2] = {w.x, w.y};
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const __half high = __float2half_rn(value[part]);
      parts[0][part].value[i] = high;
      if constexpr (kExact) parts[1][part].value[i] = __float2half_rn(value[part] - __half2float(high));
    }
  }
  char* to = weights + (std::size_t(channel) * layout.n_tiles() + tile) * layout.tile_bytes() +
             (step * 2 * kFragmentThreads + thread) * sizeof(int4);
#pragma unroll
  for (int limb = 0; limb < kLimbs; ++limb, to += layout.limb_bytes())
#pragma unroll
    for (int part = 0; part < 2; ++part)
      *reinterpret_cast<int4*>(to + part * kFragmentThreads * sizeof(int4)) = parts[limb][part].bytes;
}

}  // namespace

void launch_half_units(const PairTask& task, double* unit, cudaStream_t stream) {
  half_units<<<task.n_channel, 32, 0, stream>>>(task, unit);
  launched("looking for the largest power");
}

void launch_half_matrices(const PairTask& task, const double* unit, const HalfLayout& layout, void* matrices,
                          cudaStream_t stream) {
  const std::size_t n_padded = std::size_t(layout.n_blocks()) * kHalfBlock;
  const unsigned blocks = blocks_of(task.n_channel * n_padded * n_padded / (2 * kChunk));
  const auto kernel = layout.exact ? half_matrices<true> : half_matrices<false>;
  kernel<<<blocks, kThreads, 0, stream>>>(task, unit, layout, static_cast<char*>(matrices));
  launched("packing pairs");
}

void launch_half_weights(const WeightTask& sky, int first_pixel, const HalfLayout& layout, void* weights,
                         cudaStream_t stream) {
  const std::size_t n_steps = std::size_t(layout.n_blocks()) * kHalfBlock / 16;
  const unsigned blocks =
      blocks_of(std::size_t(layout.n_channel) * layout.n_tiles() * n_steps * kFragmentThreads);
  const auto kernel = layout.exact ? half_weights<true> : half_weights<false>;
  kernel<<<blocks, kThreads, 0, stream>>>(sky, first_pixel, layout, static_cast<char*>(weights));
  launched("rounding weights");
}

}  // namespace apsyn::epic_cuda
