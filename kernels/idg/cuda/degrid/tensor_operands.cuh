// SPDX-License-Identifier: GPL-3.0-or-later
// The operands of cuda/degrid/tensor.cu: a tile of a subgrid in shared memory, split into half-precision
// parts.
#pragma once

#include <cuda_fp16.h>

#include "kernels/idg/cuda/degrid/kernels.cuh"

namespace apsyn::idg_degrid {

constexpr int kTiledUnit = 1024, kWholeUnit = 2048;  ///< visibilities of a unit, with tiles and without
constexpr int kThreads = 128, kColumns = 32;         // x of a tile, two wgmma deep

constexpr int kSets = 3;  // the products of Gauss
enum Kind { kHigh, kLow, kFirst };

template <int kPlanes, int kRows, bool kFirstOrder>
struct Layout {
  static constexpr int kKinds = kFirstOrder ? 3 : 2;
  static constexpr int kWidth = kPlanes * kRows;    // columns of B: [plane][y]
  static constexpr int kDepthStride = kWidth * 16;  // bytes of 8 x
  static constexpr int kOperandBytes = kColumns / 8 * kDepthStride;
  static constexpr int kTableBytes = (kColumns + kRows) * 4;
  static constexpr int kOperandsBytes = kSets * kKinds * kOperandBytes;
  static int shared_bytes(int side) {
    const bool tiled = side > kColumns || side > kRows;
    return kOperandsBytes + kTableBytes + (tiled ? kTiledUnit * kPlanes * 8 : 0);
  }
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

constexpr float kTwoPi = 6.28318530717958648f, kFixed = kTwoPi / 4294967296.0f;

__device__ __forceinline__ std::uint32_t bits(__half2 value) {
  return *reinterpret_cast<std::uint32_t*>(&value);
}
/// Two values as hi + lo.
__device__ __forceinline__ void split(float a, float b, std::uint32_t& high, std::uint32_t& low) {
  const __half2 h = __floats2half2_rn(a, b);
  const float2 back = __half22float2(h);
  high = bits(h);
  low = bits(__floats2half2_rn(a - back.x, b - back.y));
}
/// The compiler must not use accumulators before they have arrived.
template <int kSize>
__device__ __forceinline__ void arrived(float (&value)[kSize]) {
#pragma unroll
  for (int i = 0; i < kSize; ++i) asm volatile("" : "+f"(value[i])::"memory");
}

/// Fills B for the tile at (first_x, first_y): zeros beyond the subgrid.
template <int kPlanes, int kRows, bool kFirstOrder>
__device__ void fill_operands(unsigned char* operands, const SumTask<float>& task, const float* residual,
                              const Unit& unit, int first_x, int first_y, float half_w, float scale) {
  using L = Layout<kPlanes, kRows, kFirstOrder>;
  const int side = task.geometry.side, n_pixels = side * side;
  const float2* image = task.pixels + std::size_t(unit.task) * kPlanes * n_pixels;
  for (int item = threadIdx.x; item < kColumns / 8 * L::kWidth; item += kThreads) {
    const int column = item % L::kWidth, group = item / L::kWidth;
    const int plane = column / kRows, y = first_y + column % kRows, x = first_x + 8 * group;
    uint4 packed[kSets][L::kKinds];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float4 two{0, 0, 0, 0};
      float2 turned{0, 0};
      if (y < side && x + 2 * i < side) {
        const int at = y * side + x + 2 * i;
        two = *reinterpret_cast<const float4*>(image + std::size_t(plane) * n_pixels + at);
        if constexpr (kFirstOrder) turned = *reinterpret_cast<const float2*>(residual + at);
      }
      two.x *= scale, two.y *= scale, two.z *= scale, two.w *= scale;
      auto word = [&](int set, int kind) -> std::uint32_t& { return (&packed[set][kind].x)[i]; };
      split(two.x, two.z, word(0, kHigh), word(0, kLow));
      split(two.y, two.w, word(1, kHigh), word(1, kLow));
      split(two.x + two.y, two.z + two.w, word(2, kHigh), word(2, kLow));
      if constexpr (kFirstOrder) {
        const float a = kTwoPi * half_w * turned.x, b = kTwoPi * half_w * turned.y;
        word(0, kFirst) = bits(__floats2half2_rn(-a * two.y, -b * two.w));
        word(1, kFirst) = bits(__floats2half2_rn(a * two.x, b * two.z));
        word(2, kFirst) = bits(__floats2half2_rn(a * (two.x - two.y), b * (two.z - two.w)));
      }
    }
#pragma unroll
    for (int set = 0; set < kSets; ++set)
#pragma unroll
      for (int kind = 0; kind < L::kKinds; ++kind)
        *reinterpret_cast<uint4*>(operands + (set * L::kKinds + kind) * L::kOperandBytes + item * 16) =
            packed[set][kind];
  }
}
#endif

}  // namespace apsyn::idg_degrid
