// SPDX-License-Identifier: GPL-3.0-or-later
// Two-dimensional transforms of 8 a x 8 a values in a block's shared memory: rows and columns are each
// transformed in two steps, of a and of 8 values in registers, and stay in place, so that frequency q + a p
// stands at 8 q + p.
#pragma once

#include <type_traits>
#include <utility>

#include "kernels/common/cuda/check.h"
#include "kernels/common/cuda/radix_composite.cuh"

namespace apsyn::idg_cuda {

template <int kSide_>
struct PlaneShape {
  static constexpr int kSide = kSide_;
  static constexpr int kFew = kSide / 8;    ///< the a of above
  static constexpr int kPitch = kSide + 1;  ///< neither rows nor columns meet in a bank
  static constexpr int kThreads = kSide > 112 ? 4 * kSide : kSide > 32 ? 256 : 128;
  static constexpr int kBytes = kSide * kPitch * static_cast<int>(sizeof(float2));
  /// Minimum number of blocks on an SM, which has 227 KB of shared memory and 64 K registers.
  static constexpr int kBlocks = kSide > 112 ? 1 : kSide > 96 ? 2 : kSide > 64 ? 3 : kSide > 32 ? 4 : 8;
  static_assert(kSide % 8 == 0);
};

/// turns [side] exp(-2 pi i k / side), by all threads of a block.
template <class Shape>
__device__ __forceinline__ void make_turns(float2* turns) {
  for (int k = threadIdx.x; k < Shape::kSide; k += Shape::kThreads) {
    float sine, cosine;
    sincospif(-2.0f * static_cast<float>(k) / Shape::kSide, &sine, &cosine);
    turns[k] = make_float2(cosine, sine);
  }
}

/// A first step of rows or columns: values 8 k + first, `stride` apart.
template <int kFew>
__device__ __forceinline__ void transform_few(float2* at, int first, int stride, const float2* turns) {
  float2 x[kFew];
#pragma unroll
  for (int k = 0; k < kFew; ++k) x[k] = at[(8 * k + first) * stride];
  radix::Transform<kFew>::run(x);
#pragma unroll
  for (int q = 0; q < kFew; ++q) at[(8 * q + first) * stride] = radix::multiply(x[q], turns[first * q]);
}

/// Exponent -1, by all threads of a block. Calls finish(frequency of rows, of columns, value); of four
/// consecutive columns at once, by eight lanes each.
template <class Shape, class Finish>
__device__ __forceinline__ void transform_plane(float2* plane, const float2* turns, const Finish& finish) {
  constexpr int kSide = Shape::kSide, kFew = Shape::kFew, kPitch = Shape::kPitch, kThreads = Shape::kThreads;
  __syncthreads();
  for (int i = threadIdx.x; i < 8 * kSide; i += kThreads)
    transform_few<kFew>(plane + i % kSide * kPitch, i / kSide, 1, turns);
  __syncthreads();
  for (int i = threadIdx.x; i < kFew * kSide; i += kThreads) {
    float2* at = plane + i % kSide * kPitch + i / kSide * 8;
    float2 x[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) x[k] = at[k];
    radix::Transform<8>::run(x);
#pragma unroll
    for (int k = 0; k < 8; ++k) at[k] = x[k];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 8 * kSide; i += kThreads)
    transform_few<kFew>(plane + i % kSide, i / kSide, kPitch, turns);
  __syncthreads();
  for (int i = threadIdx.x; i < kFew * kSide; i += kThreads) {
    const int column = i % kSide, q = i / kSide;
    const float2* at = plane + 8 * q * kPitch + column;
    float2 x[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) x[k] = at[k * kPitch];
    radix::Transform<8>::run(x);
#pragma unroll
    for (int p = 0; p < 8; ++p) finish(q + kFew * p, column / 8 + kFew * (column % 8), x[p]);
  }
}

/// Whether a block of the current device may use as much shared memory, two tables of a row besides.
template <class Shape>
bool fits_device() {
  int device = 0, most = 0;
  cuda_check(cudaGetDevice(&device), "asking for the device");
  cuda_check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
             "asking for a block's shared memory");
  return Shape::kBytes + 2 * Shape::kSide * static_cast<int>(sizeof(float2)) <= most;
}

/// Calls run(PlaneShape<side>()) if `side` is one of the supported sides, at least `least`, and fits into the
/// current device's shared memory; otherwise returns false.
template <int least, class Run>
bool with_plane_shape(int side, const Run& run) {
  auto try_sides = [&]<int... sides>(std::integer_sequence<int, sides...>) {
    auto try_side = [&]<int one>(std::integral_constant<int, one>) {
      if constexpr (one >= least) {
        if (side != one || !fits_device<PlaneShape<one>>()) return false;
        run(PlaneShape<one>());
        return true;
      }
      return false;
    };
    return (try_side(std::integral_constant<int, sides>()) || ...);
  };
  return try_sides(std::integer_sequence<int, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160>());
}

}  // namespace apsyn::idg_cuda
