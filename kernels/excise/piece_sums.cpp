// SPDX-License-Identifier: GPL-3.0-or-later
// Eight sums in float64 at a time, each of every eighth value, in an order that no instruction set changes.
// Compiled without fused multiply-adds, which would round otherwise.
#include "kernels/excise/piece_sums.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/excise/piece_sums.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// sum[i] and square[i] of samples i, i + 8, ..., n of them in all, a multiple of 8.
void sum_lanes(const float* samples, std::size_t n, float about, double* sum, double* square) {
  const hn::CappedTag<double, 8> d;
  const hn::Rebind<float, decltype(d)> df;
  const auto centre = hn::Set(df, about);
  const std::size_t lanes = hn::Lanes(d);
  const auto value = [&](std::size_t at)
                         HWY_ATTR { return hn::PromoteTo(d, hn::Sub(hn::LoadU(df, samples + at), centre)); };
  if (lanes == 8) {
    auto a = hn::Zero(d), aa = a;
    for (std::size_t t = 0; t < n; t += 8) {
      const auto x = value(t);
      a = hn::Add(a, x);
      aa = hn::Add(aa, hn::Mul(x, x));
    }
    hn::StoreU(a, d, sum);
    hn::StoreU(aa, d, square);
    return;
  }
  // Two vectors at a time, so that their additions do not wait for each other.
  for (std::size_t first = 0; first < 8; first += 2 * lanes) {
    auto a = hn::Zero(d), aa = a, b = a, bb = a;
    for (std::size_t t = first; t < n; t += 8) {
      const auto x = value(t), y = value(t + lanes);
      a = hn::Add(a, x);
      aa = hn::Add(aa, hn::Mul(x, x));
      b = hn::Add(b, y);
      bb = hn::Add(bb, hn::Mul(y, y));
    }
    hn::StoreU(a, d, sum + first);
    hn::StoreU(aa, d, square + first);
    hn::StoreU(b, d, sum + first + lanes);
    hn::StoreU(bb, d, square + first + lanes);
  }
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(sum_lanes);

PieceSums sum_piece(const float* samples, std::size_t n, float about) {
  constexpr std::size_t kLanes = 8;
  double sum[kLanes], square[kLanes];
  std::size_t t = n / kLanes * kLanes;
  HWY_DYNAMIC_DISPATCH(sum_lanes)(samples, t, about, sum, square);
  PieceSums all{0, 0, n};
  for (; t < n; ++t) {
    const double x = static_cast<double>(samples[t] - about);
    all.sum += x, all.square += x * x;
  }
  for (std::size_t i = 0; i < kLanes; ++i) all.sum += sum[i], all.square += square[i];
  if (std::isfinite(all.square)) return all;
  all = {};
  for (std::size_t i = 0; i < n; ++i) {
    if (!std::isfinite(samples[i])) continue;
    const double x = static_cast<double>(samples[i]) - static_cast<double>(about);
    all.sum += x, all.square += x * x, ++all.n;
  }
  return all;
}

}  // namespace apsyn
#endif
