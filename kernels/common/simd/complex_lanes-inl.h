// SPDX-License-Identifier: GPL-3.0-or-later
// Vectors [re, im, re, im ..] for kernels that exchange real and imaginary parts. They are Highway's own; of
// the target without vectors, whose "vectors" are single numbers, pairs with the few functions that these
// kernels call. For inclusion from files that hwy/foreach_target.h goes through, after hwy/highway.h.
#if defined(APSYN_COMPLEX_LANES) == defined(HWY_TARGET_TOGGLE)
#ifdef APSYN_COMPLEX_LANES
#undef APSYN_COMPLEX_LANES
#else
#define APSYN_COMPLEX_LANES
#endif

#include <cstddef>

HWY_BEFORE_NAMESPACE();
#if HWY_TARGET == HWY_SCALAR
namespace hwy::HWY_NAMESPACE {

template <class T>
struct PairTag {};
template <class T>
struct Pair {
  T re, im;
};

template <class T>
constexpr std::size_t Lanes(PairTag<T>) {
  return 2;
}
template <class T>
Pair<T> Set(PairTag<T>, T value) {
  return {value, value};
}
template <class T>
Pair<T> LoadU(PairTag<T>, const T* from) {
  return {from[0], from[1]};
}
template <class T>
void StoreU(Pair<T> value, PairTag<T>, T* to) {
  to[0] = value.re;
  to[1] = value.im;
}
template <class T>
Pair<T> Add(Pair<T> a, Pair<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
Pair<T> Sub(Pair<T> a, Pair<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T>
Pair<T> Neg(Pair<T> a) {
  return {-a.re, -a.im};
}
template <class T>
Pair<T> Mul(Pair<T> a, Pair<T> b) {
  return {a.re * b.re, a.im * b.im};
}
template <class T>
Pair<T> MulAdd(Pair<T> a, Pair<T> b, Pair<T> add) {
  return Add(Mul(a, b), add);
}
template <class T>
Pair<T> Reverse2(PairTag<T>, Pair<T> a) {
  return {a.im, a.re};
}
template <class T>
Pair<T> OddEven(Pair<T> odd, Pair<T> even) {
  return {even.re, odd.im};
}

}  // namespace hwy::HWY_NAMESPACE
#endif

namespace apsyn::HWY_NAMESPACE {

/// A vector type like hn::CappedTag that never holds less than a complex number.
template <class T, std::size_t n_values>
#if HWY_TARGET == HWY_SCALAR
using ComplexTag = hwy::HWY_NAMESPACE::PairTag<T>;
#else
using ComplexTag = hwy::HWY_NAMESPACE::CappedTag<T, n_values>;
#endif

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
