// SPDX-License-Identifier: GPL-3.0-or-later
// Fourier transforms of as many series at once as a register has lanes, for Highway kernels: compiled once
// for each target. Decimation in frequency, in place: after a stage of radix r, bins j modulo r are the
// transform of the j-th r-th part.
#if defined(APSYN_LANE_FFT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef APSYN_LANE_FFT_INL_H
#undef APSYN_LANE_FFT_INL_H
#else
#define APSYN_LANE_FFT_INL_H
#endif

#include <hwy/highway.h>

#include "kernels/epic/fft_spectra.h"

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {
namespace lane_fft_detail {
namespace hn = hwy::HWY_NAMESPACE;

template <class V>
struct Complex {
  V re, im;
};

template <class D, class V = hn::Vec<D>>
HWY_INLINE Complex<V> load(D d, const float* from) {
  return {hn::Load(d, from), hn::Load(d, from + hn::Lanes(d))};
}
template <class D, class V>
HWY_INLINE void store(D d, const Complex<V>& value, float* to) {
  hn::Store(value.re, d, to);
  hn::Store(value.im, d, to + hn::Lanes(d));
}
template <class V>
HWY_INLINE Complex<V> add(const Complex<V>& a, const Complex<V>& b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
template <class V>
HWY_INLINE Complex<V> subtract(const Complex<V>& a, const Complex<V>& b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
/// a - i b
template <class V>
HWY_INLINE Complex<V> minus_i(const Complex<V>& a, const Complex<V>& b) {
  return {hn::Add(a.re, b.im), hn::Sub(a.im, b.re)};
}
template <class V>
HWY_INLINE Complex<V> plus_i(const Complex<V>& a, const Complex<V>& b) {
  return {hn::Sub(a.re, b.im), hn::Add(a.im, b.re)};
}
template <class D, class V>
HWY_INLINE Complex<V> turn(D d, const Complex<V>& a, const std::complex<float>& by) {
  const V c = hn::Set(d, by.real()), s = hn::Set(d, by.imag());
  return {hn::NegMulAdd(a.im, s, hn::Mul(a.re, c)), hn::MulAdd(a.re, s, hn::Mul(a.im, c))};
}
/// a + b scale
template <class D, class V>
HWY_INLINE Complex<V> add_scaled(D d, const Complex<V>& a, const Complex<V>& b, float scale) {
  const V s = hn::Set(d, scale);
  return {hn::MulAdd(b.re, s, a.re), hn::MulAdd(b.im, s, a.im)};
}
template <class D, class V>
HWY_INLINE Complex<V> scaled(D d, const Complex<V>& a, float scale) {
  const V s = hn::Set(d, scale);
  return {hn::Mul(a.re, s), hn::Mul(a.im, s)};
}

/// One stage over all transforms of its length.
template <std::size_t kRadix, class D>
HWY_INLINE void run_stage(D d, float* data, std::size_t length, const LaneFft::Stage& stage) {
  const std::size_t step = 2 * hn::Lanes(d);
  const std::size_t part = stage.length / kRadix;
  for (std::size_t k = 0; k < part; ++k) {
    const std::complex<float>* turns = stage.turns.data() + k * (kRadix - 1);
    for (std::size_t begin = k; begin < length; begin += stage.length) {
      float* at = data + begin * step;
      const auto place = [&](std::size_t j) HWY_ATTR { return at + j * part * step; };
      const auto a = load(d, place(0)), b = load(d, place(1));
      if constexpr (kRadix == 2) {
        store(d, add(a, b), place(0));
        store(d, turn(d, subtract(a, b), turns[0]), place(1));
      } else if constexpr (kRadix == 3) {
        constexpr float kSine = 0.86602540378443864676f;
        const auto c = load(d, place(2));
        const auto sum = add(b, c), across = scaled(d, subtract(b, c), kSine);
        const auto middle = add_scaled(d, a, sum, -0.5f);
        store(d, add(a, sum), place(0));
        store(d, turn(d, minus_i(middle, across), turns[0]), place(1));
        store(d, turn(d, plus_i(middle, across), turns[1]), place(2));
      } else if constexpr (kRadix == 4) {
        const auto c = load(d, place(2)), e = load(d, place(3));
        const auto even = add(a, c), odd = add(b, e), even_off = subtract(a, c), odd_off = subtract(b, e);
        store(d, add(even, odd), place(0));
        store(d, turn(d, minus_i(even_off, odd_off), turns[0]), place(1));
        store(d, turn(d, subtract(even, odd), turns[1]), place(2));
        store(d, turn(d, plus_i(even_off, odd_off), turns[2]), place(3));
      } else {
        static_assert(kRadix == 5);
        constexpr float kCosine1 = 0.30901699437494742410f, kCosine2 = -0.80901699437494742410f;
        constexpr float kSine1 = 0.95105651629515357212f, kSine2 = 0.58778525229247312917f;
        const auto c = load(d, place(2)), e = load(d, place(3)), f = load(d, place(4));
        const auto sum1 = add(b, f), sum2 = add(c, e), off1 = subtract(b, f), off2 = subtract(c, e);
        const auto middle1 = add_scaled(d, add_scaled(d, a, sum1, kCosine1), sum2, kCosine2);
        const auto middle2 = add_scaled(d, add_scaled(d, a, sum1, kCosine2), sum2, kCosine1);
        const auto across1 = add_scaled(d, scaled(d, off1, kSine1), off2, kSine2);
        const auto across2 = add_scaled(d, scaled(d, off1, kSine2), off2, -kSine1);
        store(d, add(a, add(sum1, sum2)), place(0));
        store(d, turn(d, minus_i(middle1, across1), turns[0]), place(1));
        store(d, turn(d, minus_i(middle2, across2), turns[1]), place(2));
        store(d, turn(d, plus_i(middle2, across2), turns[2]), place(3));
        store(d, turn(d, plus_i(middle1, across1), turns[3]), place(4));
      }
    }
  }
}

/// data [length][re, im][lane]
template <class D>
HWY_INLINE void run(D d, float* data, const LaneFft& fft) {
  for (const LaneFft::Stage& stage : fft.stages) switch (stage.radix) {
      case 2:
        run_stage<2>(d, data, fft.length, stage);
        break;
      case 3:
        run_stage<3>(d, data, fft.length, stage);
        break;
      case 4:
        run_stage<4>(d, data, fft.length, stage);
        break;
      default:
        run_stage<5>(d, data, fft.length, stage);
    }
}

}  // namespace lane_fft_detail
}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
