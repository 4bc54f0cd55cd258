// SPDX-License-Identifier: GPL-3.0-or-later
// What the producers of cuda/grid/tensor/kernel.cu write to a stage of shared memory. For sm_90a only.
#pragma once

#include <cuda_fp16.h>

#include "kernels/common/cuda/sm90/shared_memory.cuh"
#include "kernels/idg/cuda/grid/tensor/shape.cuh"

namespace apsyn::idg_cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/// exp(2 pi i step x).
__device__ __forceinline__ float2 phasor(float step, float x) {
  constexpr float kRounder = 12582912.0f;  // 1.5 2^23
  const float whole = fmaf(step, x, kRounder) - kRounder;
  const float angle = 6.28318530718f * fmaf(step, x, -whole);
  return make_float2(__cosf(angle), __sinf(angle));
}
__device__ __forceinline__ float2 turn(float2 a, float2 b) {
  return make_float2(fmaf(a.x, b.x, -a.y * b.y), fmaf(a.x, b.y, a.y * b.x));
}
__device__ __forceinline__ std::uint32_t bits(__half2 value) {
  return *reinterpret_cast<const std::uint32_t*>(&value);
}
__device__ __forceinline__ __half2 as_half2(std::uint32_t value) {
  return *reinterpret_cast<const __half2*>(&value);
}
struct Split {
  __half2 hi, lo;
};
__device__ __forceinline__ Split split(float a, float b) {
  const __half2 hi = __floats2half2_rn(a, b);
  const float2 back = __half22float2(hi);
  return {hi, __floats2half2_rn(a - back.x, b - back.y)};
}
/// The product of two sums of hi and lo.
__device__ __forceinline__ Split multiply(__half2 a_hi, __half2 a_lo, __half2 b_hi, __half2 b_lo) {
  const __half2 hi = __hmul2(a_hi, b_hi);
  const __half2 rest = __hfma2(a_hi, b_hi, __hneg2(hi));
  return {hi, __hfma2(a_lo, b_hi, __hfma2(a_hi, b_lo, rest))};
}

/// T_1 as hi and lo, T_2, T_3 of one slot, in pairs to save registers.
struct Powers {
  __half2 first, others;
  __device__ explicit Powers(float t) {
    const __half hi = __float2half_rn(t);
    first = __halves2half2(hi, __float2half_rn(t - __half2float(hi)));
    others = __floats2half2_rn(2 * t * t - 1, (4 * t * t - 3) * t);
  }
};

/// Eight columns of B and all that is made of them.
template <class Shape>
__device__ __forceinline__ void write_group(std::uint32_t target, const float (&value)[8], const Powers& t) {
  using Blocks = typename Shape::Blocks;
  __half2 hi[4], lo[4], product[4], rest[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const Split s = split(value[2 * i], value[2 * i + 1]);
    hi[i] = s.hi;
    lo[i] = s.lo;
  }
  auto store = [&](int block, const __half2(&v)[4]) {
    ptx::store_shared_16(target + block * Shape::kBlockBytes,
                         make_uint4(bits(v[0]), bits(v[1]), bits(v[2]), bits(v[3])));
  };
  store(Blocks::kLo0, lo);
  store(Blocks::kHi0, hi);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const Split s = multiply(hi[i], lo[i], __low2half2(t.first), __high2half2(t.first));
    product[i] = s.hi;
    rest[i] = s.lo;
  }
  store(Blocks::kHi1, product);
  if constexpr (Shape::kTerms == 4) store(Blocks::kLo1, rest);
#pragma unroll
  for (int i = 0; i < 4; ++i) product[i] = __hmul2(hi[i], __low2half2(t.others));
  store(Blocks::kHi2, product);
  if constexpr (Shape::kTerms == 4) {
#pragma unroll
    for (int i = 0; i < 4; ++i) product[i] = __hmul2(hi[i], __high2half2(t.others));
    store(Blocks::kHi3, product);
  }
}

/// One slot's columns of eight pixels from first_x on.
template <class Shape>
__device__ __forceinline__ void write_columns(std::uint32_t target, int first_x, float step, float t) {
  float2 e[8];
  e[0] = phasor(step, first_x + 0.5f);
  e[1] = turn(e[0], phasor(step, 1));
  const float2 by2 = phasor(step, 2), by4 = phasor(step, 4);
#pragma unroll
  for (int j = 0; j < 2; ++j) e[2 + j] = turn(e[j], by2);
#pragma unroll
  for (int j = 0; j < 4; ++j) e[4 + j] = turn(e[j], by4);
  const Powers powers(t);
  float value[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) value[j] = e[j].x;
  write_group<Shape>(target, value, powers);
#pragma unroll
  for (int j = 0; j < 8; ++j) value[j] = e[j].y;
  write_group<Shape>(target + Shape::kX / 8 * kGroupBytes, value, powers);
}

/// Four slots' phasors of pixels first_y and first_y + 1: rows of cosines at `target` and + 64 B, those of
/// sines behind all of cosines.
template <class Shape>
__device__ __forceinline__ void write_rows(std::uint32_t target, int first_y, const float (&step)[4]) {
  float2 e[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) e[k] = phasor(step[k], first_y + 0.5f);
#pragma unroll
  for (int y = 0; y < 2; ++y) {
    if (y == 1)
#pragma unroll
      for (int k = 0; k < 4; ++k) e[k] = turn(e[k], phasor(step[k], 1));
    const Split c0 = split(e[0].x, e[1].x), c1 = split(e[2].x, e[3].x);
    ptx::store_shared_16(target + y * 64, make_uint4(bits(c0.hi), bits(c1.hi), bits(c0.lo), bits(c1.lo)));
    const Split s0 = split(e[0].y, e[1].y), s1 = split(e[2].y, e[3].y);
    ptx::store_shared_16(target + Shape::kY * 16 + y * 64,
                         make_uint4(bits(s0.hi), bits(s1.hi), bits(s0.lo), bits(s1.lo)));
  }
}

/// Four slots' real or imaginary parts of one plane.
__device__ __forceinline__ void write_values(std::uint32_t target, const float (&value)[4], float scale) {
  const Split v0 = split(value[0] * scale, value[1] * scale), v1 = split(value[2] * scale, value[3] * scale);
  ptx::store_shared_16(target, make_uint4(bits(v0.hi), bits(v1.hi), bits(v0.lo), bits(v1.lo)));
}

#endif

}  // namespace apsyn::idg_cuda
