// SPDX-License-Identifier: GPL-3.0-or-later
// The fused F stage's transform: passes of radix 16, 8, 4 or 2 in registers in Stockham's order, with an
// exchange through shared memory between them.
#pragma once

#include "kernels/channelise/cuda/fused/shape.cuh"
#include "kernels/channelise/cuda/kernels.cuh"
#include "kernels/common/cuda/radix.cuh"

namespace apsyn::f_stage {

/// Where value p of a row stands: swizzled within groups of 16, so that the strides of all passes spread over
/// the banks.
__device__ __forceinline__ constexpr int place(int p) {
  const int q = p >> 4;
  return p ^ ((q & 7) | ((((q >> 2) ^ (q >> 3)) & 1) << 3));
}

/// One pass of the transform on this thread's values: butterfly b holds x[b * kRadix + r].
template <int kLength, int kRadix, int kBefore>
struct Pass {
  static constexpr int kCount = kElements / kRadix, kThreads = kLength / kElements;

  __device__ __forceinline__ static void load(const float2* row, int j, float2 (&x)[kElements]) {
#pragma unroll
    for (int b = 0; b < kCount; ++b)
#pragma unroll
      for (int r = 0; r < kRadix; ++r)
        x[b * kRadix + r] = row[place(j + b * kThreads + r * (kLength / kRadix))];
  }
  /// `twiddles` [r - 1][k], exp(-2 pi i k r / (kBefore kRadix)).
  __device__ __forceinline__ static void run(const float2* twiddles, int j, float2 (&x)[kElements]) {
#pragma unroll
    for (int b = 0; b < kCount; ++b) {
      if constexpr (kBefore > 1) {
        const int k = (j + b * kThreads) % kBefore;
#pragma unroll
        for (int r = 1; r < kRadix; ++r)
          x[b * kRadix + r] = radix::multiply(x[b * kRadix + r], __ldg(twiddles + (r - 1) * kBefore + k));
      }
      radix::Transform<kRadix>::run(x + b * kRadix);
    }
  }
  __device__ __forceinline__ static void store(float2* row, int j, const float2 (&x)[kElements]) {
#pragma unroll
    for (int b = 0; b < kCount; ++b) {
      const int i = j + b * kThreads;
#pragma unroll
      for (int r = 0; r < kRadix; ++r)
        row[place(i / kBefore * kBefore * kRadix + i % kBefore + r * kBefore)] = x[b * kRadix + r];
    }
  }
};

/// Waits for the threads that share a row.
template <int kPerStream>
__device__ __forceinline__ void wait_for_row() {
  if constexpr (kPerStream <= 32)
    __syncwarp();
  else
    __syncthreads();
}

/// Transforms the rows of the exchange; x(k) of the result is bin j + k kPerStream. All threads of the
/// block must come.
template <int kLength>
__device__ __forceinline__ void transform(float2* row, int j, const float2* twiddles,
                                          float2 (&x)[kElements]) {
  constexpr Passes passes = passes_of(kLength);
  constexpr int kA = passes.radix[0], kB = passes.radix[1];
  constexpr int kLast = kB > 1 ? kB : kA, kCount = kElements / kLast;
  using First = Pass<kLength, kA, 1>;
  First::load(row, j, x);
  First::run(twiddles, j, x);
  if constexpr (kB > 1) {
    using Second = Pass<kLength, kB, kA>;
    wait_for_row<kLength / kElements>();
    First::store(row, j, x);
    wait_for_row<kLength / kElements>();
    Second::load(row, j, x);
    Second::run(twiddles, j, x);
  }
  float2 y[kElements];
#pragma unroll
  for (int k = 0; k < kElements; ++k) y[k] = x[k % kCount * kLast + k / kCount];
#pragma unroll
  for (int k = 0; k < kElements; ++k) x[k] = y[k];
}

}  // namespace apsyn::f_stage
