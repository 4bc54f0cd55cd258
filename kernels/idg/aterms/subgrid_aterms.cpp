// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/aterms/subgrid_aterms.h"

#include <hwy/cache_control.h>

#include <cstdint>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/idg/aterms/subgrid_aterms.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t max_side = 512, max_lanes = 16, max_image_planes = 4;

/// Vectors of complex numbers and of 2 x 2 matrices. aterm_math.h's functions cannot serve here: they are not
/// compiled for the target, so that nothing of the target may be inlined into them.
template <class T>
struct Value {
  using D = hn::CappedTag<T, 64 / sizeof(T)>;
  hn::Vec<D> re, im;
};
template <class T>
HWY_INLINE Value<T> plus(const Value<T>& a, const Value<T>& b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
template <class T>
HWY_INLINE Value<T> minus(const Value<T>& a, const Value<T>& b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
template <class T>
HWY_INLINE Value<T> negative(const Value<T>& a) {
  return {hn::Neg(a.re), hn::Neg(a.im)};
}
/// a b + c d.
template <class T>
HWY_INLINE Value<T> dot(const Value<T>& a, const Value<T>& b, const Value<T>& c, const Value<T>& d) {
  const auto re =
      hn::NegMulAdd(c.im, d.im, hn::MulAdd(c.re, d.re, hn::NegMulAdd(a.im, b.im, hn::Mul(a.re, b.re))));
  const auto im = hn::MulAdd(c.im, d.re, hn::MulAdd(c.re, d.im, hn::MulAdd(a.im, b.re, hn::Mul(a.re, b.im))));
  return {re, im};
}
/// a conj(b) + c conj(d).
template <class T>
HWY_INLINE Value<T> dot_conj(const Value<T>& a, const Value<T>& b, const Value<T>& c, const Value<T>& d) {
  const auto re = hn::MulAdd(c.im, d.im, hn::MulAdd(c.re, d.re, hn::MulAdd(a.im, b.im, hn::Mul(a.re, b.re))));
  const auto im =
      hn::NegMulAdd(c.re, d.im, hn::MulAdd(c.im, d.re, hn::NegMulAdd(a.re, b.im, hn::Mul(a.im, b.re))));
  return {re, im};
}
template <class T>
HWY_INLINE auto power(const Value<T>& a) {
  return hn::MulAdd(a.re, a.re, hn::Mul(a.im, a.im));
}

template <class T>
struct Matrix {
  Value<T> xx, xy, yx, yy;
};
template <class T>
HWY_INLINE Matrix<T> multiply(const Matrix<T>& a, const Matrix<T>& b) {
  return {dot(a.xx, b.xx, a.xy, b.yx), dot(a.xx, b.xy, a.xy, b.yy), dot(a.yx, b.xx, a.yy, b.yx),
          dot(a.yx, b.xy, a.yy, b.yy)};
}
/// a b^H.
template <class T>
HWY_INLINE Matrix<T> times_adjoint(const Matrix<T>& a, const Matrix<T>& b) {
  return {dot_conj(a.xx, b.xx, a.xy, b.xy), dot_conj(a.xx, b.yx, a.xy, b.yy),
          dot_conj(a.yx, b.xx, a.yy, b.xy), dot_conj(a.yx, b.yx, a.yy, b.yy)};
}
/// a^H b.
template <class T>
HWY_INLINE Matrix<T> adjoint_times(const Matrix<T>& a, const Matrix<T>& b) {
  return {dot_conj(b.xx, a.xx, b.yx, a.yx), dot_conj(b.xy, a.xx, b.yy, a.yx),
          dot_conj(b.xx, a.xy, b.yx, a.yy), dot_conj(b.xy, a.xy, b.yy, a.yy)};
}
template <class T>
HWY_INLINE Matrix<T> adjugate(const Matrix<T>& a) {
  return {a.yy, negative(a.xy), negative(a.yx), a.xx};
}
template <class T>
HWY_INLINE Value<T> determinant(const Matrix<T>& a) {
  return dot(a.xx, a.yy, negative(a.xy), a.yx);
}

/// aterm_adjoint() of aterm_math.h.
template <class T>
HWY_INLINE Matrix<T> adjoint(const Matrix<T>& p, const Matrix<T>& value, const Matrix<T>& q) {
  return multiply(adjoint_times(p, value), q);
}

/// aterm_normalised() of aterm_math.h.
template <class T>
HWY_INLINE Matrix<T> normalised(const Matrix<T>& p, const Matrix<T>& value, const Matrix<T>& q) {
  const typename Value<T>::D d;
  const auto left = adjugate(p), right = adjugate(q);
  const auto zero = hn::Zero(d);
  const Value<T> none{zero, zero};
  const auto both = times_adjoint(left, right);
  const auto norm2 =
      hn::Add(hn::Add(power(both.xx), power(both.xy)), hn::Add(power(both.yx), power(both.yy)));
  const auto turn = dot_conj(determinant(q), determinant(p), none, none);
  const auto size2 = power(turn);
  const auto scale = hn::IfThenElseZero(hn::Gt(norm2, zero), hn::Sqrt(hn::Div(hn::Set(d, T{2}), norm2)));
  const auto turned = hn::Gt(size2, zero);
  const auto per_size = hn::Div(scale, hn::Sqrt(size2));
  const Value<T> factor{hn::IfThenElse(turned, hn::Mul(turn.re, per_size), scale),
                        hn::IfThenElseZero(turned, hn::Mul(turn.im, per_size))};
  const auto result = times_adjoint(multiply(left, value), right);
  return {dot(result.xx, factor, none, none), dot(result.xy, factor, none, none),
          dot(result.yx, factor, none, none), dot(result.yy, factor, none, none)};
}

/// One row of a station's matrices, [element][pixel], with room for vectors that begin before or end behind.
struct JonesRow {
  alignas(64) std::complex<float> element[4][max_side + 2 * max_lanes] = {};

  void fill(const std::complex<float>* row, std::size_t side) {
    const hn::CappedTag<std::uint64_t, 8> d;
    const std::size_t lanes = hn::Lanes(d);
    std::uint64_t* out[4];
    for (std::size_t c = 0; c < 4; ++c) out[c] = reinterpret_cast<std::uint64_t*>(element[c] + max_lanes);
    const auto* in = reinterpret_cast<const std::uint64_t*>(row);
    std::size_t x = 0;
    for (; x + lanes <= side; x += lanes) {
      hn::Vec<decltype(d)> a, b, c, e;
      hn::LoadInterleaved4(d, in + 4 * x, a, b, c, e);
      hn::StoreU(a, d, out[0] + x);
      hn::StoreU(b, d, out[1] + x);
      hn::StoreU(c, d, out[2] + x);
      hn::StoreU(e, d, out[3] + x);
    }
    for (; x < side; ++x)
      for (std::size_t c = 0; c < 4; ++c) std::memcpy(&out[c][x], &in[4 * x + c], sizeof(std::uint64_t));
  }

  /// Towards the caches: of as many parts of a row, part i.
  static HWY_INLINE void fetch(const std::complex<float>* row, std::size_t side, std::size_t i,
                               std::size_t n_parts) {
    constexpr std::size_t line = 64 / sizeof(std::complex<float>);
    const std::size_t n_lines = (4 * side + line - 1) / line;
    for (std::size_t k = n_lines * i / n_parts; k < n_lines * (i + 1) / n_parts; ++k)
      hwy::Prefetch(row + k * line);
  }

  /// Pixels x, x + 1, ... or, backwards, x, x - 1, ...
  template <class T>
  HWY_INLINE Matrix<T> load(std::ptrdiff_t x, bool backwards) const {
    Matrix<T> matrix;
    Value<T>* value[4] = {&matrix.xx, &matrix.xy, &matrix.yx, &matrix.yy};
    const typename Value<T>::D d;
    const hn::Rebind<float, decltype(d)> f;
    if (backwards) x -= static_cast<std::ptrdiff_t>(hn::Lanes(d)) - 1;
    for (std::size_t c = 0; c < 4; ++c) {
      const auto* at = reinterpret_cast<const float*>(element[c] + max_lanes + x);
      hn::Vec<decltype(f)> re, im;
      hn::LoadInterleaved2(f, at, re, im);
      if constexpr (sizeof(T) == sizeof(double)) {
        value[c]->re = hn::PromoteTo(d, re);
        value[c]->im = hn::PromoteTo(d, im);
      } else {
        value[c]->re = re;
        value[c]->im = im;
      }
      if (backwards) {
        value[c]->re = hn::Reverse(d, value[c]->re);
        value[c]->im = hn::Reverse(d, value[c]->im);
      }
    }
    return matrix;
  }
};

/// The image at one sign of y and x from its four parities (cpu/grid/folding.h).
template <class T>
HWY_INLINE Value<T> quadrant(const T* parts, std::size_t odd_y, std::size_t odd_x, std::size_t im, bool north,
                             bool east) {
  const typename Value<T>::D d;
  auto at = [&](std::size_t offset) HWY_ATTR {
    return Value<T>{hn::Load(d, parts + offset), hn::Load(d, parts + offset + im)};
  };
  const Value<T> y = at(odd_y), x = at(odd_x), both = at(odd_y + odd_x);
  // -i times what is odd, signed.
  const Value<T> turned_y{y.im, hn::Neg(y.re)}, turned_x{x.im, hn::Neg(x.re)};
  Value<T> sum = at(0);
  sum = north ? plus(sum, turned_y) : minus(sum, turned_y);
  sum = east ? plus(sum, turned_x) : minus(sum, turned_x);
  return north == east ? minus(sum, both) : plus(sum, both);
}

template <class T>
void apply_aterms_of(const AtermStep<T>& step) {
  const typename Value<T>::D d;
  const std::size_t lanes = hn::Lanes(d), half = step.shape.half, side = 2 * half,
                    columns = step.shape.columns;
  const std::size_t im = 2 * columns, plane_size = 4 * columns;
  FoldedShape out_shape = step.shape;
  out_shape.n_planes = step.n_image;
  const std::size_t odd_y_in = step.shape.rows * step.shape.row_size();
  const std::size_t odd_y_out = step.shape.rows * out_shape.row_size();
  const auto quarter = hn::Set(d, T{0.25});
  const Value<T> none{hn::Zero(d), hn::Zero(d)};
  JonesRow p[2], q[2];
  auto row_of = [&](std::size_t y, bool north) { return (north ? half + y : half - 1 - y) * side * 4; };
  for (std::size_t y = 0; y < half; ++y) {
    for (std::size_t north : {0, 1}) {
      p[north].fill(step.p + row_of(y, north), side);
      q[north].fill(step.q + row_of(y, north), side);
    }
    for (std::size_t x = 0; x < columns; x += lanes) {
      const T* in = step.in + y * step.shape.row_size() + x;
      Value<T> mixed[4][max_image_planes];
      for (std::size_t where = 0; where < 4; ++where) {
        const bool north = where / 2 != 0, east = where % 2 != 0;
        // The matrices of the next rows come from afar while these are multiplied.
        if (y + 1 < half)
          JonesRow::fetch((east ? step.q : step.p) + row_of(y + 1, north), side, x / lanes, columns / lanes);
        auto value = [&](std::size_t c) HWY_ATTR {
          return quadrant<T>(in + c * plane_size, odd_y_in, columns, im, north, east);
        };
        const Matrix<T> seen{value(0), value(1), value(2), value(3)};
        // l grows with x, and falls along the rows of the Jones matrices.
        const auto pixel = static_cast<std::ptrdiff_t>(east ? half - 1 : half + x) -
                           static_cast<std::ptrdiff_t>(east ? x : 0);
        const Matrix<T> jones_p = p[north].template load<T>(pixel, east),
                        jones_q = q[north].template load<T>(pixel, east);
        const auto sky = step.mode == AtermMode::normalised ? normalised<T>(jones_p, seen, jones_q)
                                                            : adjoint<T>(jones_p, seen, jones_q);
        const Value<T>* corr[4] = {&sky.xx, &sky.xy, &sky.yx, &sky.yy};
        for (std::size_t s = 0; s < step.n_image; ++s) {
          Value<T> sum = none;
          for (std::size_t c = 0; c < 4; ++c) {
            const std::complex<double> factor = step.mix[s * 4 + c];
            if (factor == 0.0) continue;
            const Value<T> f{hn::Set(d, static_cast<T>(factor.real())),
                             hn::Set(d, static_cast<T>(factor.imag()))};
            sum = plus(sum, dot(f, *corr[c], none, none));
          }
          mixed[where][s] = sum;
        }
      }
      for (std::size_t s = 0; s < step.n_image; ++s) {
        T* out = step.out + y * out_shape.row_size() + s * plane_size + x;
        auto put = [&](std::size_t offset, const Value<T>& value) HWY_ATTR {
          hn::Store(hn::Mul(value.re, quarter), d, out + offset);
          hn::Store(hn::Mul(value.im, quarter), d, out + offset + im);
        };
        // mixed: south west, south east, north west, north east. What is odd comes back times i.
        const auto &sw = mixed[0][s], &se = mixed[1][s], &nw = mixed[2][s], &ne = mixed[3][s];
        const auto south = plus(sw, se), north = plus(nw, ne), south_x = minus(se, sw),
                   north_x = minus(ne, nw);
        const auto odd_x = plus(south_x, north_x), odd_y = minus(north, south),
                   both = minus(north_x, south_x);
        put(0, plus(south, north));
        put(columns, {hn::Neg(odd_x.im), odd_x.re});
        put(odd_y_out, {hn::Neg(odd_y.im), odd_y.re});
        put(odd_y_out + columns, negative(both));
      }
    }
  }
}

void aterms_float(const AtermStep<float>& step) {
  apply_aterms_of(step);
}
void aterms_double(const AtermStep<double>& step) {
  apply_aterms_of(step);
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {
HWY_EXPORT(aterms_float);
HWY_EXPORT(aterms_double);

void apply_aterms(const AtermStep<float>& step) {
  HWY_DYNAMIC_DISPATCH(aterms_float)(step);
}
void apply_aterms(const AtermStep<double>& step) {
  HWY_DYNAMIC_DISPATCH(aterms_double)(step);
}
}  // namespace apsyn
#endif
