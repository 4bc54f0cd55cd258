// SPDX-License-Identifier: GPL-3.0-or-later
// Register tile: 8 rows by 16 columns, 16 accumulators; two dot products for each broadcast of a row. Highway
// 1.0 has no such operation, nor a target with these instructions.
#include "kernels/common/spectra/multiply_codes.h"

#include <cstring>
#include <stdexcept>

#if defined(__x86_64__)
// GCC 12 takes the undefined registers inside of its own intrinsics for a mistake
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#define APSYN_VNNI __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx512vnni")))

namespace apsyn {

namespace {

constexpr std::size_t kRows = 8;

APSYN_VNNI inline __m512i load(const std::int8_t* from) {
  return _mm512_loadu_si512(from);
}

APSYN_VNNI inline void add_to_sums(__m512i value, double* sums) {
  alignas(64) std::int32_t values[kPanelInputs];
  _mm512_store_si512(values, value);
  for (std::size_t i = 0; i < kPanelInputs; ++i) sums[i] += values[i];
}

}  // namespace

APSYN_VNNI void multiply_codes(const CodeRun& run, std::size_t panel, std::size_t n_rows,
                               const std::int32_t* row_sums, double* sums) {
  const std::int8_t* columns = run.first + panel * run.panel_stride;
  const __m512i offset = _mm512_set1_epi8(-128), flip = _mm512_set1_epi16(0x00ff);
  for (std::size_t row = 0; row < n_rows; row += kRows) {
    const std::int8_t* rows =
        run.first + row / kPanelInputs * run.panel_stride + row % kPanelInputs * sizeof(std::int32_t);
    __m512i re[kRows], im[kRows];
    // a zero that GCC does not see through: it would peel the loop and shuffle all accumulators for that
    __m512i zero = _mm512_setzero_si512();
    asm("" : "+v"(zero));
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r) re[r] = im[r] = zero;
    for (std::size_t pair = 0; pair < run.n_pair; ++pair) {
      const __m512i column = _mm512_xor_si512(load(columns + pair * kCodeBytes), offset);
      // [re, im] -> [-1 - im, re], each + 128
      const __m512i swapped = _mm512_or_si512(_mm512_srli_epi16(column, 8), _mm512_slli_epi16(column, 8));
      const __m512i turned = _mm512_xor_si512(swapped, flip);
      const std::int8_t* at = rows + pair * kCodeBytes;
#pragma GCC unroll 8
      for (std::size_t r = 0; r < kRows; ++r) {
        std::int32_t codes;
        std::memcpy(&codes, at + r * sizeof(codes), sizeof(codes));
        const __m512i one = _mm512_set1_epi32(codes);
        re[r] = _mm512_dpbusd_epi32(re[r], column, one);
        im[r] = _mm512_dpbusd_epi32(im[r], turned, one);
      }
    }
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r) {
      const std::int32_t sum_re = row_sums[(row + r) * 2], sum_im = row_sums[(row + r) * 2 + 1];
      double* to = sums + (row + r) * 2 * kPanelInputs;
      add_to_sums(_mm512_sub_epi32(re[r], _mm512_set1_epi32(128 * (sum_re + sum_im))), to);
      add_to_sums(_mm512_sub_epi32(im[r], _mm512_set1_epi32(127 * sum_re + 128 * sum_im)), to + kPanelInputs);
    }
  }
}

APSYN_VNNI void sum_codes(const std::int8_t* panel, std::size_t n_pair, std::int32_t* sums) {
  const __m512i real = _mm512_set1_epi16(0x0001), imaginary = _mm512_set1_epi16(0x0100);
  __m512i re = _mm512_setzero_si512(), im = re;
  for (std::size_t pair = 0; pair < n_pair; ++pair) {
    const __m512i codes = load(panel + pair * kCodeBytes);
    re = _mm512_dpbusd_epi32(re, real, codes);
    im = _mm512_dpbusd_epi32(im, imaginary, codes);
  }
  alignas(64) std::int32_t sum_re[kPanelInputs], sum_im[kPanelInputs];
  _mm512_store_si512(sum_re, re);
  _mm512_store_si512(sum_im, im);
  for (std::size_t input = 0; input < kPanelInputs; ++input) {
    sums[2 * input] = sum_re[input];
    sums[2 * input + 1] = sum_im[input];
  }
}

bool multiplies_codes() {
  static const bool yes = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
  return yes;
}

}  // namespace apsyn

#else

namespace apsyn {

bool multiplies_codes() {
  return false;
}

void sum_codes(const std::int8_t*, std::size_t, std::int32_t*) {
  throw std::logic_error("sum_codes: not on this processor");
}

void multiply_codes(const CodeRun&, std::size_t, std::size_t, const std::int32_t*, double*) {
  throw std::logic_error("multiply_codes: not on this processor");
}

}  // namespace apsyn

#endif
