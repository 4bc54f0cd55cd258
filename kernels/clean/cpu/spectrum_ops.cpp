// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/cpu/spectrum_ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/clean/cpu/spectrum_ops.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void multiply_even_simd(float* to, const float* a, const float* even, std::size_t n) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d), n_even = n / 2 + 1;
  V re, im;
  std::size_t k = 0;
  for (; k + lanes <= n_even; k += lanes) {
    const V factor = hn::LoadU(d, even + k);
    hn::LoadInterleaved2(d, a + 2 * k, re, im);
    hn::StoreInterleaved2(hn::Mul(re, factor), hn::Mul(im, factor), d, to + 2 * k);
  }
  for (; k < n_even; ++k)
    for (const std::size_t i : {2 * k, 2 * k + 1}) to[i] = a[i] * even[k];
  for (; k + lanes <= n; k += lanes) {
    const V factor = hn::Reverse(d, hn::LoadU(d, even + (n - k + 1 - lanes)));
    hn::LoadInterleaved2(d, a + 2 * k, re, im);
    hn::StoreInterleaved2(hn::Mul(re, factor), hn::Mul(im, factor), d, to + 2 * k);
  }
  for (; k < n; ++k)
    for (const std::size_t i : {2 * k, 2 * k + 1}) to[i] = a[i] * even[n - k];
}

void multiply_complex_simd(float* to, const float* a, const float* b, std::size_t n) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  V re, im, b_re, b_im;
  std::size_t k = 0;
  for (; k + lanes <= n; k += lanes) {
    hn::LoadInterleaved2(d, a + 2 * k, re, im);
    hn::LoadInterleaved2(d, b + 2 * k, b_re, b_im);
    hn::StoreInterleaved2(hn::NegMulAdd(im, b_im, hn::Mul(re, b_re)), hn::MulAdd(im, b_re, hn::Mul(re, b_im)),
                          d, to + 2 * k);
  }
  for (; k < n; ++k) {
    const float x = a[2 * k], y = a[2 * k + 1];
    to[2 * k] = x * b[2 * k] - y * b[2 * k + 1];
    to[2 * k + 1] = x * b[2 * k + 1] + y * b[2 * k];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace apsyn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(multiply_even_simd);
HWY_EXPORT(multiply_complex_simd);

// Complex numbers are pairs of floats in memory ([complex.numbers.general]).
void multiply_even(std::complex<float>* to, const std::complex<float>* a, const float* even, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(multiply_even_simd)
  (reinterpret_cast<float*>(to), reinterpret_cast<const float*>(a), even, n);
}
void multiply_complex(std::complex<float>* to, const std::complex<float>* a, const std::complex<float>* b,
                      std::size_t n) {
  HWY_DYNAMIC_DISPATCH(multiply_complex_simd)
  (reinterpret_cast<float*>(to), reinterpret_cast<const float*>(a), reinterpret_cast<const float*>(b), n);
}

}  // namespace apsyn
#endif
