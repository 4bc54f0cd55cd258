// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cpu/layers/layer_phase.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/idg/cpu/layers/layer_phase.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/common/simd/turns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void layer_phases_of(const LayerColumn& column, std::size_t n, double* HWY_RESTRICT cosine,
                     double* HWY_RESTRICT sine) {
  const hn::CappedTag<double, 8> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto one = hn::Set(d, 1.0), cell = hn::Set(d, column.cell_rad), w = hn::Set(d, column.w_lambda);
  const auto l2 = hn::Set(d, column.l_rad * column.l_rad), shift = hn::Set(d, column.n_shift);
  const auto none = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
  auto step = [&](std::size_t i, auto& c, auto& s) HWY_ATTR {
    const auto m = hn::Mul(hn::Iota(d, column.first_pixel + static_cast<double>(i)), cell);
    const auto r2 = hn::MulAdd(m, m, l2);
    // n - 1 without cancellation.
    const auto less = hn::Div(hn::Neg(r2), hn::Add(one, hn::Sqrt(hn::Sub(one, r2))));
    const auto turns = hn::Mul(w, hn::Add(hn::IfThenElse(hn::Lt(r2, one), less, none), shift));
    cos_sin_turns<double>(d, turns, c, s);
  };
  hn::Vec<decltype(d)> c, s;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    step(i, c, s);
    hn::StoreU(c, d, cosine + i);
    hn::StoreU(s, d, sine + i);
  }
  if (i == n) return;
  HWY_ALIGN double last_c[8], last_s[8];
  step(i, c, s);
  hn::Store(c, d, last_c);
  hn::Store(s, d, last_s);
  for (std::size_t k = 0; i + k < n; ++k) {
    cosine[i + k] = last_c[k];
    sine[i + k] = last_s[k];
  }
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {
HWY_EXPORT(layer_phases_of);

void layer_phases(const LayerColumn& column, std::size_t n, double* cosine, double* sine) {
  HWY_DYNAMIC_DISPATCH(layer_phases_of)(column, n, cosine, sine);
}
}  // namespace apsyn
#endif
