// SPDX-License-Identifier: GPL-3.0-or-later
// Discrete Fourier transforms of 2, 3, 4, 5, 8 and 16 values in registers: y(q) = sum_r x(r) exp(-2 pi i q r
// / R).
#pragma once

#include <cuda_runtime.h>

namespace apsyn::radix {

__device__ __forceinline__ float2 add(float2 a, float2 b) {
  return make_float2(a.x + b.x, a.y + b.y);
}
__device__ __forceinline__ float2 subtract(float2 a, float2 b) {
  return make_float2(a.x - b.x, a.y - b.y);
}
__device__ __forceinline__ float2 multiply(float2 a, float2 b) {
  return make_float2(fmaf(a.x, b.x, -a.y * b.y), fmaf(a.x, b.y, a.y * b.x));
}
/// -i a
__device__ __forceinline__ float2 times_minus_i(float2 a) {
  return make_float2(a.y, -a.x);
}

__device__ __forceinline__ void butterfly(float2& a, float2& b) {
  const float2 sum = add(a, b);
  b = subtract(a, b);
  a = sum;
}

/// In place, natural order in and out.
__device__ __forceinline__ void transform_4(float2& a, float2& b, float2& c, float2& d) {
  butterfly(a, c);
  butterfly(b, d);
  d = times_minus_i(d);
  butterfly(a, b);  // a = y0, b = y2
  butterfly(c, d);  // c = y1, d = y3
  const float2 y2 = b;
  b = c;
  c = y2;
}

constexpr float kCos16 = 0.92387953251128674f;  // cos(2 pi / 16)
constexpr float kSin16 = 0.38268343236508977f;
constexpr float kCos8 = 0.70710678118654752f;

/// x times exp(-2 pi i n / 16), n a constant.
template <int n>
__device__ __forceinline__ float2 turn_16(float2 x) {
  if constexpr (n == 0) return x;
  if constexpr (n == 1) return multiply(x, make_float2(kCos16, -kSin16));
  if constexpr (n == 2) return make_float2(kCos8 * (x.x + x.y), kCos8 * (x.y - x.x));
  if constexpr (n == 3) return multiply(x, make_float2(kSin16, -kCos16));
  if constexpr (n == 4) return times_minus_i(x);
  if constexpr (n == 6) return make_float2(kCos8 * (x.y - x.x), -kCos8 * (x.x + x.y));
  if constexpr (n == 9) return multiply(x, make_float2(-kCos16, kSin16));
}

template <int kRadix>
struct Transform;

template <>
struct Transform<2> {
  __device__ __forceinline__ static void run(float2* x) { butterfly(x[0], x[1]); }
};

template <>
struct Transform<3> {
  __device__ __forceinline__ static void run(float2* x) {
    constexpr float kSin3 = 0.86602540378443865f;
    const float2 sum = add(x[1], x[2]), off = times_minus_i(subtract(x[1], x[2]));
    const float2 middle = make_float2(fmaf(-0.5f, sum.x, x[0].x), fmaf(-0.5f, sum.y, x[0].y));
    x[0] = add(x[0], sum);
    x[1] = make_float2(fmaf(kSin3, off.x, middle.x), fmaf(kSin3, off.y, middle.y));
    x[2] = make_float2(fmaf(-kSin3, off.x, middle.x), fmaf(-kSin3, off.y, middle.y));
  }
};

template <>
struct Transform<4> {
  __device__ __forceinline__ static void run(float2* x) { transform_4(x[0], x[1], x[2], x[3]); }
};

template <>
struct Transform<5> {
  __device__ __forceinline__ static void run(float2* x) {
    constexpr float kCos = 0.30901699437494742f, kCos2 = -0.80901699437494742f;  // of 1/5 and 2/5 of a turn
    constexpr float kSin = 0.95105651629515357f, kSin2 = 0.58778525229247313f;
    const float2 a = add(x[1], x[4]), b = add(x[2], x[3]);
    const float2 c = times_minus_i(subtract(x[1], x[4])), d = times_minus_i(subtract(x[2], x[3]));
    const float2 even1 =
        make_float2(fmaf(kCos, a.x, fmaf(kCos2, b.x, x[0].x)), fmaf(kCos, a.y, fmaf(kCos2, b.y, x[0].y)));
    const float2 even2 =
        make_float2(fmaf(kCos2, a.x, fmaf(kCos, b.x, x[0].x)), fmaf(kCos2, a.y, fmaf(kCos, b.y, x[0].y)));
    const float2 odd1 = make_float2(fmaf(kSin, c.x, kSin2 * d.x), fmaf(kSin, c.y, kSin2 * d.y));
    const float2 odd2 = make_float2(fmaf(kSin2, c.x, -kSin * d.x), fmaf(kSin2, c.y, -kSin * d.y));
    x[0] = add(x[0], add(a, b));
    x[1] = add(even1, odd1);
    x[2] = add(even2, odd2);
    x[3] = subtract(even2, odd2);
    x[4] = subtract(even1, odd1);
  }
};

template <>
struct Transform<8> {
  // r = 2 a + b: two transforms of 4 over a, turned by b q / 8, then one of 2 over b.
  __device__ __forceinline__ static void run(float2* x) {
    transform_4(x[0], x[2], x[4], x[6]);
    transform_4(x[1], x[3], x[5], x[7]);
    x[3] = turn_16<2>(x[3]);
    x[5] = turn_16<4>(x[5]);
    x[7] = turn_16<6>(x[7]);
    float2 y[8];
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      y[q] = add(x[2 * q], x[2 * q + 1]);
      y[q + 4] = subtract(x[2 * q], x[2 * q + 1]);
    }
#pragma unroll
    for (int q = 0; q < 8; ++q) x[q] = y[q];
  }
};

template <>
struct Transform<16> {
  // r = 4 a + b: four transforms of 4 over a (values q), turned by b q / 16, then four of 4 over b.
  __device__ __forceinline__ static void run(float2* x) {
#pragma unroll
    for (int b = 0; b < 4; ++b) transform_4(x[b], x[4 + b], x[8 + b], x[12 + b]);
    x[5] = turn_16<1>(x[5]);
    x[6] = turn_16<2>(x[6]);
    x[7] = turn_16<3>(x[7]);
    x[9] = turn_16<2>(x[9]);
    x[10] = turn_16<4>(x[10]);
    x[11] = turn_16<6>(x[11]);
    x[13] = turn_16<3>(x[13]);
    x[14] = turn_16<6>(x[14]);
    x[15] = turn_16<9>(x[15]);
    float2 y[16];
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      transform_4(x[4 * q], x[4 * q + 1], x[4 * q + 2], x[4 * q + 3]);
#pragma unroll
      for (int p = 0; p < 4; ++p) y[q + 4 * p] = x[4 * q + p];
    }
#pragma unroll
    for (int q = 0; q < 16; ++q) x[q] = y[q];
  }
};

}  // namespace apsyn::radix
