// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/ms/cell_values.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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

template <bool keep_values>
void mask_cells_plainly(const float* values, const std::uint8_t* flag, const float* weight, std::size_t n,
                        float* to, float* to_weight) {
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t re = bits_of(values[2 * i]), im = bits_of(values[2 * i + 1]), w = bits_of(weight[i]);
    const bool finite = ((re & kNoSign) < kInfinity) & ((im & kNoSign) < kInfinity);
    const bool valid = (flag[i] == 0) & (w > 0) & (w < kInfinity) & finite;
    const bool kept = keep_values ? finite : valid;
    to[2 * i] = std::bit_cast<float>(kept ? re : 0);
    to[2 * i + 1] = std::bit_cast<float>(kept ? im : 0);
    to_weight[i] = std::bit_cast<float>(valid ? w : 0);
  }
}

#if defined(__x86_64__)
#define APSYN_AVX2 __attribute__((target("avx2")))
/// Ones in both words of each of four complex numbers that are finite.
APSYN_AVX2 inline __m256i finite_pairs(__m256i four) {
  const __m256i magnitude = _mm256_and_si256(four, _mm256_set1_epi32(kNoSign)),
                finite = _mm256_cmpgt_epi32(_mm256_set1_epi32(kInfinity), magnitude);
  return _mm256_and_si256(finite, _mm256_shuffle_epi32(finite, 0xb1));
}
/// The masks of eight cells from those of twice four complex numbers.
APSYN_AVX2 inline __m256i one_word_each(__m256i first, __m256i second) {
  const __m256 words = _mm256_shuffle_ps(_mm256_castsi256_ps(first), _mm256_castsi256_ps(second), 0x88);
  return _mm256_permute4x64_epi64(_mm256_castps_si256(words), 0xd8);
}

template <bool keep_values>
APSYN_AVX2 void mask_cells_avx2(const float* values, const std::uint8_t* flag, const float* weight,
                                std::size_t n, float* to, float* to_weight) {
  constexpr std::size_t kAtOnce = 8;
  std::size_t i = 0;
  for (; i + kAtOnce <= n; i += kAtOnce) {
    const auto* from = reinterpret_cast<const __m256i*>(values + 2 * i);
    const __m256i first = _mm256_loadu_si256(from), second = _mm256_loadu_si256(from + 1),
                  finite_first = finite_pairs(first), finite_second = finite_pairs(second);
    const __m256i w = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weight + i)),
                  flags = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(flag + i)));
    const __m256i good = _mm256_cmpeq_epi32(flags, _mm256_setzero_si256()),
                  is_weight = _mm256_and_si256(_mm256_cmpgt_epi32(w, _mm256_setzero_si256()),
                                               _mm256_cmpgt_epi32(_mm256_set1_epi32(kInfinity), w)),
                  valid = _mm256_and_si256(_mm256_and_si256(good, is_weight),
                                           one_word_each(finite_first, finite_second));
    const __m256i keep_first =
                      keep_values ? finite_first : _mm256_cvtepi32_epi64(_mm256_castsi256_si128(valid)),
                  keep_second =
                      keep_values ? finite_second : _mm256_cvtepi32_epi64(_mm256_extracti128_si256(valid, 1));
    auto* out = reinterpret_cast<__m256i*>(to + 2 * i);
    _mm256_storeu_si256(out, _mm256_and_si256(first, keep_first));
    _mm256_storeu_si256(out + 1, _mm256_and_si256(second, keep_second));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to_weight + i), _mm256_and_si256(w, valid));
  }
  mask_cells_plainly<keep_values>(values + 2 * i, flag + i, weight + i, n - i, to + 2 * i, to_weight + i);
}

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

template <bool keep_values>
void mask_cells_of(const std::complex<float>* values, const std::uint8_t* flag, const float* weight,
                   std::size_t n, std::complex<float>* to, float* to_weight) {
  // The standard lets a complex number be taken as its two parts.
  const auto* from = reinterpret_cast<const float*>(values);
  auto* out = reinterpret_cast<float*>(to);
#if defined(__x86_64__)
  if (kHasAvx2) return mask_cells_avx2<keep_values>(from, flag, weight, n, out, to_weight);
#endif
  mask_cells_plainly<keep_values>(from, flag, weight, n, out, to_weight);
}

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

void mask_cells(const std::complex<float>* values, const std::uint8_t* flag, const float* weight,
                std::size_t n, std::complex<float>* to, float* to_weight) {
  mask_cells_of<false>(values, flag, weight, n, to, to_weight);
}

void mask_cells_keeping_values(const std::complex<float>* values, const std::uint8_t* flag,
                               const float* weight, std::size_t n, std::complex<float>* to,
                               float* to_weight) {
  mask_cells_of<true>(values, flag, weight, n, to, to_weight);
}

void flag_zeros(const float* weight, std::size_t n, std::uint8_t* flag) {
#if defined(__x86_64__)
  if (kHasAvx2) return flag_if_zero_avx2(weight, n, flag);
#endif
  flag_if_zero(weight, n, flag);
}

}  // namespace apsyn
