// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/ms/cell_values.h"

#include <algorithm>
#include <bit>

namespace apsyn {
namespace {

constexpr std::int32_t kInfinity = 0x7f800000, kNoSign = 0x7fffffff;

std::int32_t bits_of(float value) {
  return std::bit_cast<std::int32_t>(value);
}

// Comparisons of signed integers, which vectors of every length have: floats above 0 are in the order of
// their bits, those below 0 are integers below 0.

[[gnu::always_inline]] inline std::int32_t greatest_magnitude(const float* values, std::size_t n) {
  std::int32_t greatest = 0;
  for (std::size_t i = 0; i < n; ++i) greatest = std::max(greatest, bits_of(values[i]) & kNoSign);
  return greatest;
}

[[gnu::always_inline]] inline bool all_within(const float* values, std::size_t n) {
  std::int32_t least = 0, greatest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    least = std::min(least, bits_of(values[i]));
    greatest = std::max(greatest, bits_of(values[i]));
  }
  return least == 0 && greatest < kInfinity;
}

[[gnu::always_inline]] inline void mask(const std::uint8_t* flag, std::size_t n, float* weight) {
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t bits = bits_of(weight[i]);
    const bool valid = (flag[i] == 0) & (bits > 0) & (bits < kInfinity);
    weight[i] = std::bit_cast<float>(valid ? bits : 0);
  }
}

[[gnu::always_inline]] inline void flag_if_zero(const float* weight, std::size_t n, std::uint8_t* flag) {
  for (std::size_t i = 0; i < n; ++i) flag[i] = bits_of(weight[i]) == 0;
}

#if defined(__x86_64__)
#define APSYN_AVX2 __attribute__((target("avx2")))
APSYN_AVX2 std::int32_t greatest_magnitude_avx2(const float* values, std::size_t n) {
  return greatest_magnitude(values, n);
}
APSYN_AVX2 bool all_within_avx2(const float* values, std::size_t n) {
  return all_within(values, n);
}
APSYN_AVX2 void mask_avx2(const std::uint8_t* flag, std::size_t n, float* weight) {
  mask(flag, n, weight);
}
APSYN_AVX2 void flag_if_zero_avx2(const float* weight, std::size_t n, std::uint8_t* flag) {
  flag_if_zero(weight, n, flag);
}
#undef APSYN_AVX2
const bool kHasAvx2 = __builtin_cpu_supports("avx2") != 0;
#endif

}  // namespace

bool are_finite(const float* values, std::size_t n) {
#if defined(__x86_64__)
  if (kHasAvx2) return greatest_magnitude_avx2(values, n) < kInfinity;
#endif
  return greatest_magnitude(values, n) < kInfinity;
}

bool are_weights(const float* weight, std::size_t n) {
#if defined(__x86_64__)
  if (kHasAvx2) return all_within_avx2(weight, n);
#endif
  return all_within(weight, n);
}

void mask_weights(const std::uint8_t* flag, std::size_t n, float* weight) {
#if defined(__x86_64__)
  if (kHasAvx2) return mask_avx2(flag, n, weight);
#endif
  mask(flag, n, weight);
}

void flag_zeros(const float* weight, std::size_t n, std::uint8_t* flag) {
#if defined(__x86_64__)
  if (kHasAvx2) return flag_if_zero_avx2(weight, n, flag);
#endif
  flag_if_zero(weight, n, flag);
}

}  // namespace apsyn
