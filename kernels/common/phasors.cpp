// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/phasors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/common/phasors.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr double two_pi = 6.283185307179586476925286766559;

/// All lanes are computed, those beyond n with turns of 0.
void unit_phasors_double(std::size_t n, const double* turns, double* cosine, double* sine) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < n; i += lanes) {
    const std::size_t left = n - i < lanes ? n - i : lanes;
    const auto mask = hn::FirstN(d, left);
    const auto all = hn::MaskedLoad(mask, d, turns + i);
    const auto angle = hn::Mul(hn::Set(d, two_pi), hn::Sub(all, hn::Round(all)));
    hn::BlendedStore(hn::Cos(d, angle), mask, d, cosine + i);
    hn::BlendedStore(hn::Sin(d, angle), mask, d, sine + i);
  }
}

void unit_phasors_float(std::size_t n, const double* turns, float* cosine, float* sine) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> f;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < n; i += lanes) {
    const std::size_t left = n - i < lanes ? n - i : lanes;
    const auto all = hn::MaskedLoad(hn::FirstN(d, left), d, turns + i);
    const auto angle = hn::DemoteTo(f, hn::Mul(hn::Set(d, two_pi), hn::Sub(all, hn::Round(all))));
    const auto mask = hn::FirstN(f, left);
    hn::BlendedStore(hn::Cos(f, angle), mask, f, cosine + i);
    hn::BlendedStore(hn::Sin(f, angle), mask, f, sine + i);
  }
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {
HWY_EXPORT(unit_phasors_float);
HWY_EXPORT(unit_phasors_double);

void unit_phasors(std::size_t n, const double* turns, float* cosine, float* sine) {
  HWY_DYNAMIC_DISPATCH(unit_phasors_float)(n, turns, cosine, sine);
}
void unit_phasors(std::size_t n, const double* turns, double* cosine, double* sine) {
  HWY_DYNAMIC_DISPATCH(unit_phasors_double)(n, turns, cosine, sine);
}
}  // namespace apsyn
#endif
