// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cpu/degrid/pixels.h"

#include <algorithm>

#include "kernels/idg/aterms/aterm_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/idg/cpu/degrid/pixels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/common/simd/complex_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// i z of complex lanes.
template <class D, class V>
HWY_INLINE V times_i(D d, V z) {
  const auto swapped = hn::Reverse2(d, z);
  return hn::OddEven(swapped, hn::Neg(swapped));
}

template <class D, class V, class T>
HWY_INLINE void store_folded(D d, V above, V below, T* even, T* odd) {
  hn::StoreU(hn::Add(above, below), d, even);
  hn::StoreU(times_i(d, hn::Sub(below, above)), d, odd);
}

template <class T>
void fold_rows_of(std::size_t n, const T* HWY_RESTRICT above, const T* HWY_RESTRICT below,
                  T* HWY_RESTRICT even, T* HWY_RESTRICT odd) {
  const ComplexTag<T, 64 / sizeof(T)> d;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d))
    store_folded(d, hn::LoadU(d, above + i), hn::LoadU(d, below + i), even + i, odd + i);
}

template <std::size_t n_values, class T>
void fold_axis_of(const AxisFolding<T>& f) {
  const ComplexTag<T, n_values> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t o = 0; o < f.n_other; ++o)
    for (std::size_t c = 0; c < n_values; c += lanes) {
      const T* HWY_RESTRICT middle = f.cells + o * f.other_stride + f.half * f.cell_stride + c;
      T* HWY_RESTRICT even = f.even + o * n_values + c;
      T* HWY_RESTRICT odd = f.odd + o * n_values + c;
      hn::StoreU(hn::LoadU(d, middle), d, even);
      for (std::size_t k = 1; k < f.half; ++k)
        store_folded(d, hn::LoadU(d, middle + k * f.cell_stride), hn::LoadU(d, middle - k * f.cell_stride),
                     even + k * f.k_stride, odd + (k - 1) * f.k_stride);
      hn::StoreU(times_i(d, hn::LoadU(d, middle - f.half * f.cell_stride)), d,
                 odd + (f.half - 1) * f.k_stride);
    }
}

template <std::size_t n_values, class T>
void fold_pixels_of(const PixelFolding<T>& f) {
  const ComplexTag<T, n_values> d;
  const std::size_t lanes = hn::Lanes(d), quadrant = f.half * f.half * n_values;
  const auto scale = hn::Set(d, f.scale);
  for (std::size_t x = 0; x < f.half; ++x) {
    const T* HWY_RESTRICT east = f.pixels + (f.half + x) * f.x_stride + f.half * n_values;
    const T* HWY_RESTRICT west = f.pixels + (f.half - 1 - x) * f.x_stride + f.half * n_values;
    T* HWY_RESTRICT to = f.folded + x * f.half * n_values;
    for (std::size_t y = 0; y < f.half; ++y)
      for (std::size_t c = 0; c < n_values; c += lanes) {
        const std::size_t north = y * n_values + c;
        const T *east_south = east - (y + 1) * n_values + c, *west_south = west - (y + 1) * n_values + c;
        const auto pp = hn::Mul(scale, hn::LoadU(d, east + north)),
                   pm = hn::Mul(scale, hn::LoadU(d, east_south)),
                   mp = hn::Mul(scale, hn::LoadU(d, west + north)),
                   mm = hn::Mul(scale, hn::LoadU(d, west_south));
        const auto sum_p = hn::Add(pp, pm), sum_m = hn::Add(mp, mm);
        const auto less_p = hn::Sub(pp, pm), less_m = hn::Sub(mp, mm);
        hn::StoreU(hn::Add(sum_p, sum_m), d, to + north);
        hn::StoreU(times_i(d, hn::Add(less_p, less_m)), d, to + quadrant + north);
        hn::StoreU(times_i(d, hn::Sub(sum_p, sum_m)), d, to + 2 * quadrant + north);
        hn::StoreU(hn::Sub(less_m, less_p), d, to + 3 * quadrant + north);
      }
  }
}

template <std::size_t n_values, class T>
void expand_term_of(const TermExpansion<T>& e) {
  const ComplexTag<T, n_values> d;
  const std::size_t lanes = hn::Lanes(d), n = e.half * e.half;
  for (std::size_t x = 0; x < e.half; ++x)
    for (std::size_t y = 0; y < e.half; ++y) {
      const std::size_t at = y * e.screen_stride + x, pixel = x * e.half + y;
      const auto re = hn::Set(d, e.re[at]);
      const auto im = hn::OddEven(hn::Set(d, e.im[at]), hn::Set(d, -e.im[at]));
      for (std::size_t quadrant = 0; quadrant < 4; ++quadrant)
        for (std::size_t c = 0; c < n_values; c += lanes) {
          const auto in = hn::LoadU(d, e.folded + (quadrant * n + pixel) * n_values + c);
          hn::StoreU(hn::MulAdd(in, re, hn::Mul(hn::Reverse2(d, in), im)), d,
                     e.to + (quadrant * n + pixel) * e.pixel_stride + c);
        }
    }
}

/// Eight lanes [XX XY YX YY][re, im] of a 2 x 2 matrix.
template <class T>
struct MatrixLanes {
  hn::CappedTag<T, 8> d;
  using V = hn::Vec<hn::CappedTag<T, 8>>;
  using Index = hwy::MakeSigned<T>;
  using Order = decltype(hn::SetTableIndices(hn::CappedTag<T, 8>(), static_cast<const Index*>(nullptr)));

  static Order order(const std::array<Index, 8>& lanes) {
    return hn::SetTableIndices(hn::CappedTag<T, 8>(), lanes.data());
  }
  /// Element (i, k) of the left factor for the product's element (i, j), real and imaginary part.
  Order left_re[2] = {order({0, 0, 0, 0, 4, 4, 4, 4}), order({2, 2, 2, 2, 6, 6, 6, 6})};
  Order left_im[2] = {order({1, 1, 1, 1, 5, 5, 5, 5}), order({3, 3, 3, 3, 7, 7, 7, 7})};
  /// Element (k, j) of the right factor, and (j, k) for its adjoint.
  Order right[2] = {order({0, 1, 2, 3, 0, 1, 2, 3}), order({4, 5, 6, 7, 4, 5, 6, 7})};
  Order right_adjoint[2] = {order({0, 1, 4, 5, 0, 1, 4, 5}), order({2, 3, 6, 7, 2, 3, 6, 7})};

  HWY_INLINE V product(V a, V b, const Order* rows) const {
    auto sum = hn::Zero(d);
    for (int k = 0; k < 2; ++k) {
      const auto factor = hn::TableLookupLanes(b, rows[k]);
      sum = hn::MulAdd(hn::TableLookupLanes(a, left_re[k]), factor, sum);
      sum = hn::MulAdd(hn::TableLookupLanes(a, left_im[k]), times_i(d, factor), sum);
    }
    return sum;
  }
  HWY_INLINE V load(const std::complex<float>* jones) const {
    const hn::Rebind<float, decltype(d)> f;
    const auto value = hn::LoadU(f, reinterpret_cast<const float*>(jones));
    if constexpr (sizeof(T) == sizeof(float)) {
      return value;
    } else {
      return hn::PromoteTo(d, value);
    }
  }
};

template <class T>
void apply_aterms_of(const AtermStage<T>& s) {
  const auto& mix = *s.mix;
  auto pixel = [&](const JonesPixels& jones, std::size_t x, std::size_t y) {
    return jones.origin + static_cast<std::ptrdiff_t>(x) * jones.x_stride +
           static_cast<std::ptrdiff_t>(y) * jones.y_stride;
  };
  if constexpr (hn::MaxLanes(hn::CappedTag<T, 8>()) == 8) {
    const MatrixLanes<T> lanes;
    const auto d = lanes.d;
    HWY_ALIGN T weight[4][8] = {};
    for (std::size_t m = 0; m < mix.size(); ++m)
      for (std::size_t c = 0; c < 4; ++c) {
        weight[m][2 * c] = static_cast<T>(mix[m][c].real());
        weight[m][2 * c + 1] = static_cast<T>(mix[m][c].imag());
      }
    const auto adjoint = hn::OddEven(hn::Set(d, T{-1}), hn::Set(d, T{1}));
    for (std::size_t x = 0; x < s.side; ++x) {
      const T* HWY_RESTRICT from = s.from + x * s.from_stride;
      T* HWY_RESTRICT to = s.to + x * s.to_stride;
      for (std::size_t y = 0; y < s.side; ++y) {
        auto brightness = hn::Zero(d);
        for (std::size_t m = 0; m < mix.size(); ++m) {
          const auto w = hn::Load(d, weight[m]);
          brightness = hn::MulAdd(hn::Set(d, from[2 * m]), w, brightness);
          brightness = hn::MulAdd(hn::Set(d, from[2 * m + 1]), times_i(d, w), brightness);
        }
        const auto p = lanes.load(pixel(s.p, x, y));
        const auto q = hn::Mul(adjoint, lanes.load(pixel(s.q, x, y)));
        const auto left = lanes.product(p, brightness, lanes.right);
        hn::StoreU(lanes.product(left, q, lanes.right_adjoint), d, to);
        from += s.n_values;
        to += 8;
      }
    }
  } else {
    using Matrix = AtermMatrix<T>;
    auto matrix = [&](const std::complex<float>* a) {
      auto value = [&](std::size_t i) {
        return AtermValue<T>{static_cast<T>(a[i].real()), static_cast<T>(a[i].imag())};
      };
      return Matrix{value(0), value(1), value(2), value(3)};
    };
    for (std::size_t x = 0; x < s.side; ++x)
      for (std::size_t y = 0; y < s.side; ++y) {
        const T* from = s.from + x * s.from_stride + y * s.n_values;
        AtermValue<T> corr[4];
        for (std::size_t m = 0; m < mix.size(); ++m)
          for (std::size_t c = 0; c < 4; ++c)
            corr[c] = corr[c] +
                      AtermValue<T>{from[2 * m], from[2 * m + 1]} *
                          AtermValue<T>{static_cast<T>(mix[m][c].real()), static_cast<T>(mix[m][c].imag())};
        const Matrix seen = aterm_forward(
            matrix(pixel(s.p, x, y)), Matrix{corr[0], corr[1], corr[2], corr[3]}, matrix(pixel(s.q, x, y)));
        const AtermValue<T> all[4] = {seen.xx, seen.xy, seen.yx, seen.yy};
        T* to = s.to + x * s.to_stride + y * 8;
        for (std::size_t c = 0; c < 4; ++c) {
          to[2 * c] = all[c].re;
          to[2 * c + 1] = all[c].im;
        }
      }
  }
}

void fold_rows_float(std::size_t n, const float* above, const float* below, float* even, float* odd) {
  fold_rows_of(n, above, below, even, odd);
}
void fold_rows_double(std::size_t n, const double* above, const double* below, double* even, double* odd) {
  fold_rows_of(n, above, below, even, odd);
}

#define APSYN_BY_VALUES(name, Work, T, function) \
  void name(const Work<T>& work) {               \
    if (work.n_values == 2) function<2>(work);   \
    if (work.n_values == 4) function<4>(work);   \
    if (work.n_values == 8) function<8>(work);   \
  }
APSYN_BY_VALUES(fold_axis_float, AxisFolding, float, fold_axis_of)
APSYN_BY_VALUES(fold_axis_double, AxisFolding, double, fold_axis_of)
APSYN_BY_VALUES(fold_pixels_float, PixelFolding, float, fold_pixels_of)
APSYN_BY_VALUES(fold_pixels_double, PixelFolding, double, fold_pixels_of)
APSYN_BY_VALUES(expand_term_float, TermExpansion, float, expand_term_of)
APSYN_BY_VALUES(expand_term_double, TermExpansion, double, expand_term_of)
#undef APSYN_BY_VALUES

void apply_aterms_float(const AtermStage<float>& stage) {
  apply_aterms_of(stage);
}
void apply_aterms_double(const AtermStage<double>& stage) {
  apply_aterms_of(stage);
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {
HWY_EXPORT(fold_rows_float);
HWY_EXPORT(fold_rows_double);
HWY_EXPORT(fold_axis_float);
HWY_EXPORT(fold_axis_double);
HWY_EXPORT(fold_pixels_float);
HWY_EXPORT(fold_pixels_double);
HWY_EXPORT(expand_term_float);
HWY_EXPORT(expand_term_double);
HWY_EXPORT(apply_aterms_float);
HWY_EXPORT(apply_aterms_double);

void fold_rows(std::size_t n, const float* above, const float* below, float* even, float* odd) {
  HWY_DYNAMIC_DISPATCH(fold_rows_float)(n, above, below, even, odd);
}
void fold_rows(std::size_t n, const double* above, const double* below, double* even, double* odd) {
  HWY_DYNAMIC_DISPATCH(fold_rows_double)(n, above, below, even, odd);
}
void fold_axis(const AxisFolding<float>& folding) {
  HWY_DYNAMIC_DISPATCH(fold_axis_float)(folding);
}
void fold_axis(const AxisFolding<double>& folding) {
  HWY_DYNAMIC_DISPATCH(fold_axis_double)(folding);
}
void fold_pixels(const PixelFolding<float>& folding) {
  HWY_DYNAMIC_DISPATCH(fold_pixels_float)(folding);
}
void fold_pixels(const PixelFolding<double>& folding) {
  HWY_DYNAMIC_DISPATCH(fold_pixels_double)(folding);
}
void expand_term(const TermExpansion<float>& expansion) {
  HWY_DYNAMIC_DISPATCH(expand_term_float)(expansion);
}
void expand_term(const TermExpansion<double>& expansion) {
  HWY_DYNAMIC_DISPATCH(expand_term_double)(expansion);
}
void apply_aterms(const AtermStage<float>& stage) {
  HWY_DYNAMIC_DISPATCH(apply_aterms_float)(stage);
}
void apply_aterms(const AtermStage<double>& stage) {
  HWY_DYNAMIC_DISPATCH(apply_aterms_double)(stage);
}
}  // namespace apsyn
#endif
