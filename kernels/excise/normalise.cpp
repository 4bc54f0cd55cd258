// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/excise/normalise.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/excise/normalise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

std::size_t normalise_simd(const float* samples, std::size_t n, const NormaliseRun& run, std::int8_t* out) {
  std::size_t n_clipped = 0;
  const auto piece = [&](auto d, std::size_t t) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> di;
    const hn::Rebind<std::int8_t, decltype(d)> d8;
    const auto time =
        hn::Add(hn::Set(d, run.first), hn::ConvertTo(d, hn::Iota(di, static_cast<std::int32_t>(t))));
    const auto x = hn::LoadU(d, samples + t);
    // rounded once, where the instruction set has that, as GPUs do
    auto value = hn::NegMulAdd(hn::Set(d, run.slope), time, hn::Sub(x, hn::Set(d, run.level)));
    value = hn::Mul(value, hn::Set(d, run.scale));
    if (run.common != nullptr) value = hn::Sub(value, hn::LoadU(d, run.common + t));
    const auto finite = hn::Le(hn::Abs(x), hn::Set(d, 3.4e38f));
    value = hn::IfThenElseZero(finite, value);
    const auto most = hn::Set(d, 127.0f);
    n_clipped += hn::CountTrue(d, hn::Gt(hn::Abs(value), most));
    value = hn::Max(hn::Min(value, most), hn::Neg(most));
    hn::StoreU(hn::DemoteTo(d8, hn::NearestInt(value)), d8, out + t);
  };
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  std::size_t t = 0;
  for (; t + hn::Lanes(d) <= n; t += hn::Lanes(d)) piece(d, t);
  for (; t < n; ++t) piece(one, t);
  return n_clipped;
}

void accumulate_simd(const std::int8_t* from, std::size_t n, float* to) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<std::int8_t, decltype(d)> d8;
  std::size_t t = 0;
  for (; t + hn::Lanes(d) <= n; t += hn::Lanes(d)) {
    const auto value = hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(d8, from + t)));
    hn::StoreU(hn::Add(hn::LoadU(d, to + t), value), d, to + t);
  }
  for (; t < n; ++t) to[t] += from[t];
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(normalise_simd);
HWY_EXPORT(accumulate_simd);

std::size_t normalise(const float* samples, std::size_t n, const NormaliseRun& run, std::int8_t* out) {
  return HWY_DYNAMIC_DISPATCH(normalise_simd)(samples, n, run, out);
}
void accumulate(const std::int8_t* from, std::size_t n, float* to) {
  HWY_DYNAMIC_DISPATCH(accumulate_simd)(from, n, to);
}

}  // namespace apsyn
#endif
