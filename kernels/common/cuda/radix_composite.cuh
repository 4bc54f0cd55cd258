// SPDX-License-Identifier: GPL-3.0-or-later
// Discrete Fourier transforms of 7, and of 6, 10, 12, 14, 20, 24, 32, 40 and 48 values in registers, these
// made of shorter ones.
#pragma once

#include <utility>

#include "kernels/common/cuda/radix.cuh"

namespace apsyn::radix {

/// exp(-2 pi i turn / of), from its Taylor series within an eighth of a turn of 0.
struct Turn {
  double re, im;
};
__host__ __device__ constexpr Turn turn_of_circle(int turn, int of) {
  turn %= of;
  const int quarters = (8 * turn + of) / (2 * of);  // the nearest
  const double x = -6.283185307179586 * (turn / double(of) - quarters / 4.0);
  double cosine = 0, sine = 0, term = 1;
  for (int n = 0; n < 20; ++n) {
    (n % 2 == 0 ? cosine : sine) += n / 2 % 2 == 0 ? term : -term;
    term *= x / (n + 1);
  }
  switch (quarters % 4) {
    case 0:
      return {cosine, sine};
    case 1:
      return {sine, -cosine};
    case 2:
      return {-cosine, -sine};
    default:
      return {-sine, cosine};
  }
}

/// r = kB a + b: kB transforms of kA over a (values q), turned by b q / (kA kB), then kA of kB over b.
template <int kA, int kB>
struct Composite {
  template <class C>
  __device__ __forceinline__ static void run(C* x) {
    C y[kA * kB];
    over_a(x, y, std::make_integer_sequence<int, kB>());
#pragma unroll
    for (int q = 0; q < kA; ++q) {
      Transform<kB>::run(y + q * kB);
#pragma unroll
      for (int p = 0; p < kB; ++p) x[q + kA * p] = y[q * kB + p];
    }
  }

 private:
  template <class C, int... b>
  __device__ __forceinline__ static void over_a(const C* x, C* y, std::integer_sequence<int, b...>) {
    (one_of_a<b>(x, y, std::make_integer_sequence<int, kA>()), ...);
  }
  template <int b, class C, int... q>
  __device__ __forceinline__ static void one_of_a(const C* x, C* y, std::integer_sequence<int, q...>) {
    C part[kA];
    ((part[q] = x[kB * q + b]), ...);
    Transform<kA>::run(part);
    ((y[q * kB + b] = turned<b * q>(part[q])), ...);
  }
  template <int turn, class C>
  __device__ __forceinline__ static C turned(C x) {
    if constexpr (turn == 0) return x;
    constexpr Turn by = turn_of_circle(turn, kA * kB);
    return multiply(x, C{constant<C>(static_cast<float>(by.re)), constant<C>(static_cast<float>(by.im))});
  }
};

/// Pairs k, 7 - k: their sums and differences take part with the same factors.
template <>
struct Transform<7> {
  template <class C>
  __device__ __forceinline__ static void run(C* x) {
    C sum[3], difference[3], y[7];
    y[0] = x[0];
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      sum[k] = add(x[k + 1], x[6 - k]);
      difference[k] = times_minus_i(subtract(x[k + 1], x[6 - k]));
      y[0] = add(y[0], sum[k]);
    }
    pair<1>(x[0], sum, difference, y, std::make_integer_sequence<int, 3>());
    pair<2>(x[0], sum, difference, y, std::make_integer_sequence<int, 3>());
    pair<3>(x[0], sum, difference, y, std::make_integer_sequence<int, 3>());
#pragma unroll
    for (int q = 0; q < 7; ++q) x[q] = y[q];
  }

 private:
  template <int q, class C, int... k>
  __device__ __forceinline__ static void pair(C first, const C* sum, const C* difference, C* y,
                                              std::integer_sequence<int, k...>) {
    C even = first, odd{};
    ((even = add_scaled(even, static_cast<float>(turn_of_circle(q * (k + 1), 7).re), sum[k]),
      odd = add_scaled(odd, static_cast<float>(-turn_of_circle(q * (k + 1), 7).im), difference[k])),
     ...);
    y[q] = add(even, odd);
    y[7 - q] = subtract(even, odd);
  }
};
template <>
struct Transform<6> : Composite<3, 2> {};
template <>
struct Transform<10> : Composite<5, 2> {};
template <>
struct Transform<12> : Composite<4, 3> {};
template <>
struct Transform<14> : Composite<7, 2> {};
template <>
struct Transform<20> : Composite<5, 4> {};
template <>
struct Transform<24> : Composite<8, 3> {};
template <>
struct Transform<32> : Composite<8, 4> {};
template <>
struct Transform<40> : Composite<8, 5> {};
template <>
struct Transform<48> : Composite<16, 3> {};

}  // namespace apsyn::radix
