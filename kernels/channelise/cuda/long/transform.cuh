// SPDX-License-Identifier: GPL-3.0-or-later
// The transform of long spectra: passes of radix 32, 16 or 8 in registers in Stockham's order, with an
// exchange through shared memory between them.
#pragma once

#include "kernels/channelise/cuda/long/shape.cuh"
#include "kernels/channelise/long_factors.h"
#include "kernels/common/cuda/radix_composite.cuh"

namespace apsyn::f_stage {

/// Waits for the threads of one transform of a block.
template <class S>
__device__ __forceinline__ void wait_for_transform(int transform) {
  if constexpr (S::kPer <= 32)
    __syncwarp();
  else if constexpr (S::kTransforms == 1)
    __syncthreads();
  else
    asm volatile("bar.sync %0, %1;" ::"r"(transform + 1), "n"(S::kPer) : "memory");
}

/// A pass of the transform; butterfly b of a thread, number j + b kPer, holds x[b * kRadix + r].
template <class S, int kRadix, int kBefore>
struct LongPass {
  static constexpr int kCount = S::kElements / kRadix, kApart = S::kLength / kRadix;
  static_assert(kBefore == 1 ? kRadix == 32 : kBefore % 32 == 0 && kApart % 32 == 0);

  /// Where a value stands in the exchange, which leaves one out after every 32.
  __device__ __forceinline__ static int from(int j, int b, int r) {
    constexpr int kPadded = 33 * (kApart / 32);
    if constexpr (S::kPer >= 32) return j + j / 32 + b * (S::kPer / 32 * 33) + r * kPadded;
    return j + b * S::kPer + r * kPadded;  // the butterflies' numbers are below 32
  }
  __device__ __forceinline__ static int to(int j, int b, int r) {
    if constexpr (kBefore == 1) return 33 * j + r;
    const int i = j + b * S::kPer, block = i / kBefore, k = i % kBefore;
    return block * (kBefore / 32 * 33 * kRadix) + k + k / 32 + r * (kBefore / 32 * 33);
  }
  /// `turns` [r - 1][k].
  __device__ __forceinline__ static void run(const float2* turns, int j, float2 (&x)[S::kElements]) {
#pragma unroll
    for (int b = 0; b < kCount; ++b) {
      if constexpr (kBefore > 1) {
        const int k = (j + b * S::kPer) % kBefore;
#pragma unroll
        for (int r = 1; r < kRadix; ++r)
          x[b * kRadix + r] = radix::multiply(x[b * kRadix + r], __ldg(turns + (r - 1) * kBefore + k));
      }
      radix::Transform<kRadix>::run(x + b * kRadix);
    }
  }
};

/// Hands values of one pass to the next.
template <class S, class From, class To>
__device__ __forceinline__ void exchange_values(void* row, int j, int transform, float2 (&x)[S::kElements]) {
  constexpr int kFrom = S::kElements / From::kCount, kTo = S::kElements / To::kCount;
  const auto store = [&](auto* to, const auto& value) {
#pragma unroll
    for (int i = 0; i < S::kElements; ++i) to[From::to(j, i / kFrom, i % kFrom)] = value(x[i]);
  };
  const auto load = [&](const auto* from, const auto& take) {
#pragma unroll
    for (int i = 0; i < S::kElements; ++i) take(x[i], from[To::from(j, i / kTo, i % kTo)]);
  };
  wait_for_transform<S>(transform);
  if constexpr (S::kSplit) {
    auto* parts = static_cast<float*>(row);
    store(parts, [](float2 value) { return value.x; });
    wait_for_transform<S>(transform);
    load(parts, [](float2& value, float part) { value.x = part; });
    wait_for_transform<S>(transform);
    store(parts, [](float2 value) { return value.y; });
    wait_for_transform<S>(transform);
    load(parts, [](float2& value, float part) { value.y = part; });
  } else {
    auto* values = static_cast<float2*>(row);
    store(values, [](float2 value) { return value; });
    wait_for_transform<S>(transform);
    load(values, [](float2& value, float2 part) { value = part; });
  }
}

/// Transforms x, sample j + k kPer in x[k], into bin j + k kPer. All threads of the block must come.
template <class S>
__device__ __forceinline__ void transform_long(void* row, int j, int transform, const float2* turns,
                                               float2 (&x)[S::kElements]) {
  constexpr LongPasses passes = long_passes(S::kLength);
  constexpr int kA = passes.radix[0], kB = passes.radix[1], kC = passes.radix[2];
  using First = LongPass<S, kA, 1>;
  using Second = LongPass<S, kB, kA>;
  constexpr int kLast = kC > 1 ? kC : kB, kCount = S::kElements / kLast;
  First::run(nullptr, j, x);
  exchange_values<S, First, Second>(row, j, transform, x);
  Second::run(turns, j, x);
  if constexpr (kC > 1) {
    using Third = LongPass<S, kC, kA * kB>;
    exchange_values<S, Second, Third>(row, j, transform, x);
    Third::run(turns + kA * (kB - 1), j, x);
  }
  float2 y[S::kElements];
#pragma unroll
  for (int k = 0; k < S::kElements; ++k) y[k] = x[k % kCount * kLast + k / kCount];
#pragma unroll
  for (int k = 0; k < S::kElements; ++k) x[k] = y[k];
}

}  // namespace apsyn::f_stage
