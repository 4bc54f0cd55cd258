// SPDX-License-Identifier: GPL-3.0-or-later
// Discrete Fourier transforms of 12, 24, 32, 40 and 48 values in registers, made of those of radix.cuh.
#pragma once

#include <utility>

#include "kernels/common/radix.cuh"

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

template <>
struct Transform<12> : Composite<4, 3> {};
template <>
struct Transform<24> : Composite<8, 3> {};
template <>
struct Transform<32> : Composite<8, 4> {};
template <>
struct Transform<40> : Composite<8, 5> {};
template <>
struct Transform<48> : Composite<16, 3> {};

}  // namespace apsyn::radix
