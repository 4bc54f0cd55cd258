// SPDX-License-Identifier: GPL-3.0-or-later
// Discrete Fourier transforms of 2, 3, 4, 5, 8 and 16 values in registers: y(q) = sum_r x(r) exp(-2 pi i q r
// / R).
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <type_traits>

namespace apsyn::radix {

/// Two complex numbers: their real and their imaginary parts.
struct __align__(8) HalfPair {
  __half2 x, y;
};

__device__ __forceinline__ float fused(float a, float b, float c) {
  return fmaf(a, b, c);
}
__device__ __forceinline__ __half2 fused(__half2 a, __half2 b, __half2 c) {
  return __hfma2(a, b, c);
}
/// A constant for each component.
template <class C>
__device__ __forceinline__ auto constant(float value) {
  if constexpr (std::is_same_v<C, HalfPair>)
    return __float2half2_rn(value);
  else
    return value;
}

/// A twiddle factor for values of type C.
template <class C>
__device__ __forceinline__ C turn_of(float2 turn) {
  return {constant<C>(turn.x), constant<C>(turn.y)};
}

template <class C>
__device__ __forceinline__ C add(C a, C b) {
  return {a.x + b.x, a.y + b.y};
}
template <class C>
__device__ __forceinline__ C subtract(C a, C b) {
  return {a.x - b.x, a.y - b.y};
}
template <class C>
__device__ __forceinline__ C multiply(C a, C b) {
  return {fused(a.x, b.x, -a.y * b.y), fused(a.x, b.y, a.y * b.x)};
}
/// -i a
template <class C>
__device__ __forceinline__ C times_minus_i(C a) {
  return {a.y, -a.x};
}
/// a + f b
template <class C>
__device__ __forceinline__ C add_scaled(C a, float f, C b) {
  const auto factor = constant<C>(f);
  return {fused(factor, b.x, a.x), fused(factor, b.y, a.y)};
}
template <class C>
__device__ __forceinline__ C scaled(float f, C a) {
  const auto factor = constant<C>(f);
  return {factor * a.x, factor * a.y};
}

template <class C>
__device__ __forceinline__ void butterfly(C& a, C& b) {
  const C sum = add(a, b);
  b = subtract(a, b);
  a = sum;
}

/// In place, natural order in and out.
template <class C>
__device__ __forceinline__ void transform_4(C& a, C& b, C& c, C& d) {
  butterfly(a, c);
  butterfly(b, d);
  d = times_minus_i(d);
  butterfly(a, b);  // a = y0, b = y2
  butterfly(c, d);  // c = y1, d = y3
  const C y2 = b;
  b = c;
  c = y2;
}

constexpr float kCos16 = 0.92387953251128674f;  // cos(2 pi / 16)
constexpr float kSin16 = 0.38268343236508977f;
constexpr float kCos8 = 0.70710678118654752f;

/// x times exp(-2 pi i n / 16), n a constant.
template <int n, class C>
__device__ __forceinline__ C turn_16(C x) {
  const auto turned = [&](float re, float im) { return multiply(x, C{constant<C>(re), constant<C>(im)}); };
  if constexpr (n == 0) return x;
  if constexpr (n == 1) return turned(kCos16, -kSin16);
  if constexpr (n == 2) return scaled(kCos8, C{x.x + x.y, x.y - x.x});
  if constexpr (n == 3) return turned(kSin16, -kCos16);
  if constexpr (n == 4) return times_minus_i(x);
  if constexpr (n == 6) return scaled(kCos8, C{x.y - x.x, -(x.x + x.y)});
  if constexpr (n == 9) return turned(-kCos16, kSin16);
}

template <int kRadix>
struct Transform;

template <>
struct Transform<2> {
  template <class C>
  __device__ __forceinline__ static void run(C* x) {
    butterfly(x[0], x[1]);
  }
};

template <>
struct Transform<3> {
  template <class C>
  __device__ __forceinline__ static void run(C* x) {
    constexpr float kSin3 = 0.86602540378443865f;
    const C sum = add(x[1], x[2]), off = times_minus_i(subtract(x[1], x[2]));
    const C middle = add_scaled(x[0], -0.5f, sum);
    x[0] = add(x[0], sum);
    x[1] = add_scaled(middle, kSin3, off);
    x[2] = add_scaled(middle, -kSin3, off);
  }
};

template <>
struct Transform<4> {
  template <class C>
  __device__ __forceinline__ static void run(C* x) {
    transform_4(x[0], x[1], x[2], x[3]);
  }
};

template <>
struct Transform<5> {
  template <class C>
  __device__ __forceinline__ static void run(C* x) {
    constexpr float kCos = 0.30901699437494742f, kCos2 = -0.80901699437494742f;  // of 1/5 and 2/5 of a turn
    constexpr float kSin = 0.95105651629515357f, kSin2 = 0.58778525229247313f;
    const C a = add(x[1], x[4]), b = add(x[2], x[3]);
    const C c = times_minus_i(subtract(x[1], x[4])), d = times_minus_i(subtract(x[2], x[3]));
    const C even1 = add_scaled(add_scaled(x[0], kCos2, b), kCos, a);
    const C even2 = add_scaled(add_scaled(x[0], kCos, b), kCos2, a);
    const C odd1 = add_scaled(scaled(kSin2, d), kSin, c);
    const C odd2 = add_scaled(scaled(-kSin, d), kSin2, c);
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
  template <class C>
  __device__ __forceinline__ static void run(C* x) {
    transform_4(x[0], x[2], x[4], x[6]);
    transform_4(x[1], x[3], x[5], x[7]);
    x[3] = turn_16<2>(x[3]);
    x[5] = turn_16<4>(x[5]);
    x[7] = turn_16<6>(x[7]);
    C y[8];
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
  template <class C>
  __device__ __forceinline__ static void run(C* x) {
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
    C y[16];
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

/// run<radix>() for the radix of a pass.
template <int kLargest, class Run>
__device__ __forceinline__ void with_radix(int radix, const Run& run) {
  switch (radix) {
    case 2:
      return run.template operator()<2>();
    case 3:
      return run.template operator()<3>();
    case 4:
      return run.template operator()<4>();
    case 5:
      return run.template operator()<5>();
    case 8:
      return run.template operator()<8>();
    case 16:
      if constexpr (kLargest == 16) return run.template operator()<16>();
  }
}

}  // namespace apsyn::radix
