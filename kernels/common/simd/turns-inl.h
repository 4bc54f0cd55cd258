// SPDX-License-Identifier: GPL-3.0-or-later
// Cosine and sine of whole turns for Highway kernels, compiled once for each target.
#if defined(APSYN_TURNS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef APSYN_TURNS_INL_H
#undef APSYN_TURNS_INL_H
#else
#define APSYN_TURNS_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {
namespace turns_detail {
namespace hn = hwy::HWY_NAMESPACE;

/// Vectors of as many floats as there are doubles, or of the doubles themselves.
template <class T, class D>
HWY_INLINE auto to_precision([[maybe_unused]] D d, hn::Vec<D> value) {
  if constexpr (sizeof(T) == sizeof(double)) {
    return value;
  } else {
    return hn::DemoteTo(hn::Rebind<T, D>(), value);
  }
}

/// cos and sin of 2 pi turns in precision T, to its rounding. The turns may be many: they are reduced to an
/// eighth in float64.
template <class T, class D>
HWY_INLINE void cos_sin_turns(D d, hn::Vec<D> turns, hn::Vec<hn::Rebind<T, D>>& cosine,
                              hn::Vec<hn::Rebind<T, D>>& sine) {
  const hn::Rebind<T, D> t;
  turns = hn::Sub(turns, hn::Round(turns));
  const auto quarters = hn::Round(hn::Mul(turns, hn::Set(d, 4.0)));
  const auto rest = hn::NegMulAdd(quarters, hn::Set(d, 0.25), turns);
  const auto q = to_precision<T>(d, quarters);
  const auto x = to_precision<T>(d, hn::Mul(rest, hn::Set(d, 6.283185307179586476925286766559)));
  const auto x2 = hn::Mul(x, x);
  // Taylor series up to the angle of pi / 4.
  constexpr int n = sizeof(T) == sizeof(double) ? 9 : 5;
  constexpr double sine_of[9] = {1.0,
                                 -1.0 / 6,
                                 1.0 / 120,
                                 -1.0 / 5040,
                                 1.0 / 362880,
                                 -1.0 / 39916800,
                                 1.0 / 6227020800,
                                 -1.0 / 1307674368000,
                                 1.0 / 355687428096000};
  constexpr double cosine_of[9] = {1.0,
                                   -0.5,
                                   1.0 / 24,
                                   -1.0 / 720,
                                   1.0 / 40320,
                                   -1.0 / 3628800,
                                   1.0 / 479001600,
                                   -1.0 / 87178291200,
                                   1.0 / 20922789888000};
  auto s = hn::Set(t, static_cast<T>(sine_of[n - 1])), c = hn::Set(t, static_cast<T>(cosine_of[n - 1]));
  for (int k = n - 1; k-- > 0;) {
    s = hn::MulAdd(s, x2, hn::Set(t, static_cast<T>(sine_of[k])));
    c = hn::MulAdd(c, x2, hn::Set(t, static_cast<T>(cosine_of[k])));
  }
  s = hn::Mul(s, x);
  // q is -2 .. 2: odd quarters exchange the two, +-2 turn both round.
  const auto size = hn::Abs(q);
  const auto odd = hn::Eq(size, hn::Set(t, T{1}));
  const auto half = hn::Eq(size, hn::Set(t, T{2}));
  cosine = hn::IfThenElse(odd, hn::Neg(hn::Mul(q, s)), hn::IfThenElse(half, hn::Neg(c), c));
  sine = hn::IfThenElse(odd, hn::Mul(q, c), hn::IfThenElse(half, hn::Neg(s), s));
}

}  // namespace turns_detail
using turns_detail::cos_sin_turns;
using turns_detail::to_precision;
}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
