// SPDX-License-Identifier: GPL-3.0-or-later
// For processors with AVX-512 VNNI (multiplies_codes()). Register tile: 6 pixels by both rows, 24 sums, for
// 24 dot products with 24 broadcast weights out of the first-level cache and 2 loads. Highway 1.0 has no such
// operation.
#include "kernels/epic/dft/cpu/codes.h"

#include <stdexcept>

#if defined(__x86_64__)
// GCC 12 takes the undefined registers inside of its own intrinsics for a mistake
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#define APSYN_VNNI __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx512vnni")))

namespace apsyn {

namespace {

/// Antennas whose sum int32 holds: 256 x 32768 x 128 x sqrt(2).
constexpr std::size_t kPieceAnts = 256;

struct Field {
  __m512 re, im;
};

/// sum += the dot products of x with a word in each lane. GCC 12 copies and spills the sums of the intrinsic.
APSYN_VNNI inline void add_dot(__m512i& sum, __m512i x, const std::int32_t& word) {
  asm("vpdpwssd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(x), "m"(word));
}

template <std::size_t P>
APSYN_VNNI inline void sum_piece(const std::int32_t* spectra, const std::uint64_t* const words[2],
                                 std::size_t word_stride, std::size_t n_ant, Field (&field)[P][2]) {
  // a zero that GCC does not see through: it would peel the loop and shuffle all accumulators for that
  __m512i zero = _mm512_setzero_si512();
  asm("" : "+v"(zero));
  __m512i re[P][2], im[P][2];
#pragma GCC unroll 8
  for (std::size_t p = 0; p < P; ++p) re[p][0] = re[p][1] = im[p][0] = im[p][1] = zero;
  const auto* x = reinterpret_cast<const std::int32_t*>(words[0]);
  const auto* y = reinterpret_cast<const std::int32_t*>(words[1]);
  for (std::size_t ant = 0; ant < n_ant; ++ant, spectra += kCodeAntWords, x += 2, y += 2) {
    const __m512i first = _mm512_loadu_si512(spectra), second = _mm512_loadu_si512(spectra + kDftLanes);
#pragma GCC unroll 8
    for (std::size_t p = 0; p < P; ++p) {
      add_dot(re[p][0], first, x[2 * p * word_stride]);
      add_dot(im[p][0], first, x[2 * p * word_stride + 1]);
      add_dot(re[p][1], second, y[2 * p * word_stride]);
      add_dot(im[p][1], second, y[2 * p * word_stride + 1]);
    }
  }
#pragma GCC unroll 8
  for (std::size_t p = 0; p < P; ++p) {
    field[p][0] = {_mm512_cvtepi32_ps(re[p][0]), _mm512_cvtepi32_ps(im[p][0])};
    field[p][1] = {_mm512_cvtepi32_ps(re[p][1]), _mm512_cvtepi32_ps(im[p][1])};
  }
}

/// to[lane] += a b + c d
APSYN_VNNI inline void add_products(__m512 a, __m512 b, __m512 c, __m512 d, float* to) {
  _mm512_storeu_ps(to, _mm512_fmadd_ps(a, b, _mm512_fmadd_ps(c, d, _mm512_loadu_ps(to))));
}

template <std::size_t P>
APSYN_VNNI inline void image_pixels(const DftCodeProduct& product, std::size_t pixel) {
  for (std::size_t tile = 0; tile < product.n_tile; ++tile) {
    Field e[P][2];
    for (std::size_t ant = 0; ant < product.n_ant; ant += kPieceAnts) {
      const std::size_t n = product.n_ant - ant < kPieceAnts ? product.n_ant - ant : kPieceAnts;
      const std::size_t at = pixel * product.word_stride + ant;
      const std::uint64_t* words[2] = {product.words[0] + at, product.words[1] + at};
      Field piece[P][2];
      sum_piece<P>(product.spectra + (tile * product.n_ant + ant) * kCodeAntWords, words, product.word_stride,
                   n, ant == 0 ? e : piece);
      for (std::size_t p = 0; ant > 0 && p < P; ++p)
        for (std::size_t row = 0; row < 2; ++row) {
          e[p][row].re = _mm512_add_ps(e[p][row].re, piece[p][row].re);
          e[p][row].im = _mm512_add_ps(e[p][row].im, piece[p][row].im);
        }
    }
    for (std::size_t p = 0; p < P; ++p) {
      float* to = product.sums + (pixel + p) * kDftValues * kDftLanes;
      const Field x = e[p][0], y = e[p][1];
      add_products(x.re, x.re, x.im, x.im, to);
      if (product.n_pol == 1) {
        add_products(y.re, y.re, y.im, y.im, to);
        continue;
      }
      add_products(y.re, y.re, y.im, y.im, to + kDftLanes);
      add_products(x.re, y.re, x.im, y.im, to + 2 * kDftLanes);
      add_products(x.im, y.re, _mm512_sub_ps(_mm512_setzero_ps(), x.re), y.im, to + 3 * kDftLanes);
    }
  }
}

/// re and im of a word.
inline std::int32_t real_part(std::uint64_t word) {
  return static_cast<std::int16_t>(word);
}
inline std::int32_t imaginary_part(std::uint64_t word) {
  return static_cast<std::int16_t>(word >> 32);
}

}  // namespace

APSYN_VNNI void image_code_tiles(const DftCodeProduct& product) {
  constexpr std::size_t kPixels = 6;
  std::size_t pixel = 0;
  for (; pixel + kPixels <= product.n_pixel; pixel += kPixels) image_pixels<kPixels>(product, pixel);
  for (; pixel < product.n_pixel; ++pixel) image_pixels<1>(product, pixel);
}

APSYN_VNNI void weigh_codes(const float* weights, const float* factors, std::size_t n_ant,
                            std::uint64_t* words) {
  const __m512i low = _mm512_set1_epi64(0xffff);
  for (std::size_t ant = 0; ant < n_ant; ant += 8) {
    const __m512 w = _mm512_loadu_ps(weights + 2 * ant), g = _mm512_loadu_ps(factors + 2 * ant);
    const __m512 swapped = _mm512_permute_ps(w, 0xb1);
    const __m512 product =
        _mm512_fmaddsub_ps(w, _mm512_moveldup_ps(g), _mm512_mul_ps(swapped, _mm512_movehdup_ps(g)));
    const __m512i pair = _mm512_cvtps_epi32(product);  // re in the low half of 64 bits, im in the high one
    const __m512i re = _mm512_and_si512(pair, low);
    const __m512i im = _mm512_srli_epi64(pair, 32);
    const __m512i minus_im = _mm512_and_si512(_mm512_sub_epi64(_mm512_setzero_si512(), im), low);
    const __m512i first = _mm512_or_si512(re, _mm512_slli_epi64(minus_im, 16));
    const __m512i second = _mm512_or_si512(_mm512_and_si512(im, low), _mm512_slli_epi64(re, 16));
    _mm512_storeu_si512(words + ant, _mm512_or_si512(first, _mm512_slli_epi64(second, 32)));
  }
}

APSYN_VNNI void code_autos(const std::uint64_t* const words[2], const double* powers,
                           std::size_t power_stride, std::size_t n_ant, std::size_t n_pol,
                           double autos[kDftValues]) {
  double sums[kDftValues] = {};
  for (std::size_t ant = 0; ant < n_ant; ++ant) {
    const double x_re = real_part(words[0][ant]), x_im = imaginary_part(words[0][ant]);
    sums[0] += (x_re * x_re + x_im * x_im) * powers[ant];
    if (n_pol == 1) continue;
    const double y_re = real_part(words[1][ant]), y_im = imaginary_part(words[1][ant]);
    sums[1] += (y_re * y_re + y_im * y_im) * powers[power_stride + ant];
    const double re = x_re * y_re + x_im * y_im, im = x_im * y_re - x_re * y_im;
    const double own_re = powers[2 * power_stride + ant], own_im = powers[3 * power_stride + ant];
    sums[2] += re * own_re - im * own_im;
    sums[3] += re * own_im + im * own_re;
  }
  for (std::size_t value = 0; value < kDftValues; ++value) autos[value] = sums[value];
}

}  // namespace apsyn

#else

namespace apsyn {

void image_code_tiles(const DftCodeProduct&) {
  throw std::logic_error("image_code_tiles: not on this processor");
}

void weigh_codes(const float*, const float*, std::size_t, std::uint64_t*) {
  throw std::logic_error("weigh_codes: not on this processor");
}

void code_autos(const std::uint64_t* const[2], const double*, std::size_t, std::size_t, std::size_t,
                double[kDftValues]) {
  throw std::logic_error("code_autos: not on this processor");
}

}  // namespace apsyn

#endif
