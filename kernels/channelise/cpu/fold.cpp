// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/channelise/pfb.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/channelise/cpu/fold.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE void fold_at(D d, const FoldTask& task, std::size_t n) {
  auto sum = hn::Mul(hn::LoadU(d, task.weights + n), hn::LoadU(d, task.samples + n));
  for (std::size_t tap = 1; tap < task.n_taps; ++tap) {
    const std::size_t at = tap * task.n_value + n;
    sum = hn::MulAdd(hn::LoadU(d, task.weights + at), hn::LoadU(d, task.samples + at), sum);
  }
  hn::StoreU(sum, d, task.out + n);
}

void fold_taps_simd(const FoldTask& task) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t n = 0;
  for (; n + lanes <= task.n_value; n += lanes) fold_at(d, task, n);
  for (; n < task.n_value; ++n) fold_at(one, task, n);
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(fold_taps_simd);

void fold_taps(const FoldTask& task) {
  HWY_DYNAMIC_DISPATCH(fold_taps_simd)(task);
}

}  // namespace apsyn
#endif
