// SPDX-License-Identifier: GPL-3.0-or-later
// Fourier transforms of several series, one in each lane of a register, for Highway kernels: compiled once
// for each target. Decimation in frequency, in place: after a stage of radix r, bins j modulo r are the
// transform of the j-th r-th part.
#if defined(APSYN_LANE_FFT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef APSYN_LANE_FFT_INL_H
#undef APSYN_LANE_FFT_INL_H
#else
#define APSYN_LANE_FFT_INL_H
#endif

#include <hwy/highway.h>

#include "kernels/epic/fft/cpu/spectra.h"

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

/// Places of a series one after the other.
struct InOrder {
  float* data;
  std::size_t step;
  HWY_INLINE float* operator()(std::size_t place) const { return data + place * step; }
};

/// One stage over all transforms of its length: from places of `from` to the same places of `to`. With kHalf
/// only the first half of the parts is read, because the rest is 0.
template <std::size_t kRadix, bool kLast, bool kHalf, class D, class From, class To>
HWY_INLINE void run_stage(D d, const From& from, const To& to, std::size_t length,
                          const LaneFft::Stage& stage) {
  const std::size_t part = stage.length / kRadix;
  for (std::size_t k = 0; k < part; ++k) {
    const std::complex<float>* turns = stage.turns.data() + k * (kRadix - 1);
    for (std::size_t begin = k; begin < length; begin += stage.length) {
      const auto in = [&](std::size_t j) HWY_ATTR { return load(d, from(begin + j * part)); };
      const auto out = [&](std::size_t j, const auto& value) HWY_ATTR {
        // the last stage turns by nothing
        if (kLast || j == 0)
          store(d, value, to(begin + j * part));
        else
          store(d, turn(d, value, turns[j - 1]), to(begin + j * part));
      };
      const auto a = in(0);
      if constexpr (kRadix == 2) {
        const auto b = in(1);
        out(0, add(a, b));
        out(1, subtract(a, b));
      } else if constexpr (kRadix == 3) {
        constexpr float kSine = 0.86602540378443864676f;
        const auto b = in(1), c = in(2);
        const auto sum = add(b, c), across = scaled(d, subtract(b, c), kSine);
        const auto middle = add_scaled(d, a, sum, -0.5f);
        out(0, add(a, sum));
        out(1, minus_i(middle, across));
        out(2, plus_i(middle, across));
      } else if constexpr (kRadix == 4 && kHalf) {
        const auto b = in(1);
        out(0, add(a, b));
        out(1, minus_i(a, b));
        out(2, subtract(a, b));
        out(3, plus_i(a, b));
      } else if constexpr (kRadix == 4) {
        const auto b = in(1), c = in(2), e = in(3);
        const auto even = add(a, c), odd = add(b, e), even_off = subtract(a, c), odd_off = subtract(b, e);
        out(0, add(even, odd));
        out(1, minus_i(even_off, odd_off));
        out(2, subtract(even, odd));
        out(3, plus_i(even_off, odd_off));
      } else {
        static_assert(kRadix == 5);
        constexpr float kCosine1 = 0.30901699437494742410f, kCosine2 = -0.80901699437494742410f;
        constexpr float kSine1 = 0.95105651629515357212f, kSine2 = 0.58778525229247312917f;
        const auto b = in(1), c = in(2), e = in(3), f = in(4);
        const auto sum1 = add(b, f), sum2 = add(c, e), off1 = subtract(b, f), off2 = subtract(c, e);
        const auto middle1 = add_scaled(d, add_scaled(d, a, sum1, kCosine1), sum2, kCosine2);
        const auto middle2 = add_scaled(d, add_scaled(d, a, sum1, kCosine2), sum2, kCosine1);
        const auto across1 = add_scaled(d, scaled(d, off1, kSine1), off2, kSine2);
        const auto across2 = add_scaled(d, scaled(d, off1, kSine2), off2, -kSine1);
        out(0, add(a, add(sum1, sum2)));
        out(1, minus_i(middle1, across1));
        out(2, minus_i(middle2, across2));
        out(3, plus_i(middle2, across2));
        out(4, plus_i(middle1, across1));
      }
    }
  }
}

template <bool kLast, bool kHalf, class D, class From, class To>
HWY_INLINE void run_stage(D d, const From& from, const To& to, std::size_t length,
                          const LaneFft::Stage& stage) {
  switch (stage.radix) {
    case 2:
      return run_stage<2, kLast, kHalf>(d, from, to, length, stage);
    case 3:
      return run_stage<3, kLast, kHalf>(d, from, to, length, stage);
    case 4:
      return run_stage<4, kLast, kHalf>(d, from, to, length, stage);
    default:
      return run_stage<5, kLast, kHalf>(d, from, to, length, stage);
  }
}

/// From places [length][re, im][lane] of `first`, by way of `data`, to those of `last`. Of the series only
/// the first fft.reads(n_used) places are read: what follows the first n_used is 0.
template <class D, class To>
HWY_INLINE void run(D d, const InOrder& first, const InOrder& data, const To& last, const LaneFft& fft,
                    std::size_t n_used) {
  const std::size_t n_stage = fft.stages.size();
  for (std::size_t i = 0; i < n_stage; ++i) {
    const LaneFft::Stage& stage = fft.stages[i];
    const bool half = i == 0 && fft.reads(n_used) < fft.length;
    if (i + 1 < n_stage) {
      const InOrder& from = i == 0 ? first : data;
      half ? run_stage<false, true>(d, from, data, fft.length, stage)
           : run_stage<false, false>(d, from, data, fft.length, stage);
    } else {
      const InOrder& from = i == 0 ? first : data;
      half ? run_stage<true, true>(d, from, last, fft.length, stage)
           : run_stage<true, false>(d, from, last, fft.length, stage);
    }
  }
}

}  // namespace lane_fft_detail
}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
