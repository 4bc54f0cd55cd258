// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/plane_mix.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace apsyn::imaging {

PlaneMix::PlaneMix(const Buffer<std::complex<double>, 2>& mix, double factor)
    : n_products_(mix.extent(0)), n_planes_(mix.extent(1)) {
  if (n_products_ > kMost || n_planes_ > kMost) throw std::invalid_argument("more than four products");
  for (std::size_t product = 0; product < n_products_; ++product) {
    std::size_t n = 0;
    for (std::size_t plane = 0; plane < n_planes_; ++plane)
      if (const std::complex<double> own = factor * mix(product, plane); own != 0.0)
        terms_[product][n++] = {plane, own.real(), own.imag()};
    n_terms_ = std::max(n_terms_, n);
  }
}

template <std::size_t n_terms, bool add>
bool PlaneMix::sum(const std::complex<float>* planes, std::size_t n, std::complex<float>* values) const {
  float sound = 0;  // no number as soon as a value is none
  for (std::size_t i = 0; i < n; ++i, planes += n_planes_)
    for (std::size_t product = 0; product < n_products_; ++product, ++values) {
      double re = 0, im = 0;
      for (std::size_t t = 0; t < n_terms; ++t) {
        const Term& term = terms_[product][t];
        // Multiplied by hand, because the operator for complex numbers checks for infinities.
        const double x = planes[term.plane].real(), y = planes[term.plane].imag();
        re += term.re * x - term.im * y;
        im += term.re * y + term.im * x;
      }
      // Rounded as if it were written to a column of its own, so that a prediction minus itself is 0.
      const auto predicted_re = static_cast<float>(re), predicted_im = static_cast<float>(im);
      sound += 0 * predicted_re + 0 * predicted_im;
      if constexpr (add)
        *values += std::complex<float>(predicted_re, predicted_im);
      else
        *values = {predicted_re, predicted_im};
    }
  return sound == 0;
}

#if defined(__x86_64__)
/// sum<2, add>() of four products, two at a time, to the same bits.
template <bool add>
__attribute__((target("avx2"))) bool PlaneMix::sum_pairs(const std::complex<float>* planes, std::size_t n,
                                                         std::complex<float>* values) const {
  constexpr std::size_t kTerms = 2, kPairs = 2;
  __m256d by[kPairs][kTerms], by_turned[kPairs][kTerms];  // of [re, im] and of [im, re]
  std::size_t plane[kPairs][kTerms][2];
  for (std::size_t pair = 0; pair < kPairs; ++pair)
    for (std::size_t t = 0; t < kTerms; ++t) {
      const Term &first = terms_[2 * pair][t], &second = terms_[2 * pair + 1][t];
      by[pair][t] = _mm256_setr_pd(first.re, first.re, second.re, second.re);
      by_turned[pair][t] = _mm256_setr_pd(-first.im, first.im, -second.im, second.im);
      plane[pair][t][0] = first.plane;
      plane[pair][t][1] = second.plane;
    }
  __m128 sound = _mm_setzero_ps();
  auto* to = reinterpret_cast<float*>(values);
  for (std::size_t i = 0; i < n; ++i, planes += n_planes_)
    for (std::size_t pair = 0; pair < kPairs; ++pair, to += 4) {
      __m256d both = _mm256_setzero_pd();
      for (std::size_t t = 0; t < kTerms; ++t) {
        __m128 own =
            _mm_loadl_pi(_mm_setzero_ps(), reinterpret_cast<const __m64*>(planes + plane[pair][t][0]));
        own = _mm_loadh_pi(own, reinterpret_cast<const __m64*>(planes + plane[pair][t][1]));
        const __m256d value = _mm256_cvtps_pd(own), turned = _mm256_permute_pd(value, 0x5);
        both = _mm256_add_pd(both, _mm256_add_pd(_mm256_mul_pd(by[pair][t], value),
                                                 _mm256_mul_pd(by_turned[pair][t], turned)));
      }
      const __m128 predicted = _mm256_cvtpd_ps(both);
      sound = _mm_add_ps(sound, _mm_mul_ps(_mm_setzero_ps(), predicted));
      _mm_storeu_ps(to, add ? _mm_add_ps(_mm_loadu_ps(to), predicted) : predicted);
    }
  alignas(16) float each[4];
  _mm_store_ps(each, sound);
  return each[0] + each[1] + each[2] + each[3] == 0;
}
#endif

bool PlaneMix::apply(const std::complex<float>* planes, std::size_t n, bool add,
                     std::complex<float>* values) const {
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2 && n_terms_ == 2 && n_products_ == kMost)
    return add ? sum_pairs<true>(planes, n, values) : sum_pairs<false>(planes, n, values);
#endif
  if (n_terms_ == 1) return add ? sum<1, true>(planes, n, values) : sum<1, false>(planes, n, values);
  if (n_terms_ == 2) return add ? sum<2, true>(planes, n, values) : sum<2, false>(planes, n, values);
  return add ? sum<kMost, true>(planes, n, values) : sum<kMost, false>(planes, n, values);
}

}  // namespace apsyn::imaging
