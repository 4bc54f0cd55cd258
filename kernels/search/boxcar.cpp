// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/search/boxcar.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/search/boxcar.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Calls piece(d, t) over n values in vectors, then one by one, with the same operations.
template <class Piece>
HWY_INLINE void for_vectors(std::size_t n, Piece piece) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  std::size_t t = 0;
  for (; t + hn::Lanes(d) <= n; t += hn::Lanes(d)) piece(d, t);
  for (; t < n; ++t) piece(one, t);
}

void add_windows_simd(const float* a, const float* b, std::size_t n, float* out) {
  for_vectors(n, [&](auto d, std::size_t t)
                     HWY_ATTR { hn::StoreU(hn::Add(hn::LoadU(d, a + t), hn::LoadU(d, b + t)), d, out + t); });
}

float largest_of_simd(const float* values, std::size_t n) {
  const hn::ScalableTag<float> d;
  float best = values[0];
  std::size_t t = 0;
  if (n >= hn::Lanes(d)) {
    auto most = hn::LoadU(d, values);
    for (t = hn::Lanes(d); t + hn::Lanes(d) <= n; t += hn::Lanes(d))
      most = hn::Max(most, hn::LoadU(d, values + t));
    best = hn::GetLane(hn::MaxOfLanes(d, most));
  }
  for (; t < n; ++t) best = std::max(best, values[t]);
  return best;
}

Range range_of_simd(const float* values, std::size_t n) {
  const hn::ScalableTag<float> d;
  Range range{values[0], values[0]};
  std::size_t t = 0;
  if (n >= hn::Lanes(d)) {
    auto low = hn::LoadU(d, values), high = low;
    for (t = hn::Lanes(d); t + hn::Lanes(d) <= n; t += hn::Lanes(d)) {
      const auto value = hn::LoadU(d, values + t);
      low = hn::Min(low, value), high = hn::Max(high, value);
    }
    range = {hn::GetLane(hn::MinOfLanes(d, low)), hn::GetLane(hn::MaxOfLanes(d, high))};
  }
  for (; t < n; ++t) range = {std::min(range.low, values[t]), std::max(range.high, values[t])};
  return range;
}

void divide_by_root_simd(float* sums, const float* weights, float least, std::size_t n) {
  for_vectors(n, [&](auto d, std::size_t t) HWY_ATTR {
    const auto weight = hn::LoadU(d, weights + t);
    const auto ratio = hn::Div(hn::LoadU(d, sums + t), hn::Sqrt(hn::Max(weight, hn::Set(d, least))));
    hn::StoreU(hn::IfThenElseZero(hn::Ge(weight, hn::Set(d, least)), ratio), d, sums + t);
  });
}

void detrend_simd(const float* sums, const float* weights, std::size_t n, const DetrendRun& run, float* out) {
  for_vectors(n, [&](auto d, std::size_t t) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> di;
    const auto time =
        hn::Add(hn::Set(d, run.first), hn::ConvertTo(d, hn::Iota(di, static_cast<std::int32_t>(t))));
    const auto level = hn::Add(hn::Set(d, run.level), hn::Mul(hn::Set(d, run.level_slope), time));
    const auto gain = hn::Add(hn::Set(d, run.gain), hn::Mul(hn::Set(d, run.gain_slope), time));
    const auto weight = weights ? hn::LoadU(d, weights + t) : hn::Set(d, run.weight);
    hn::StoreU(hn::Mul(hn::Sub(hn::LoadU(d, sums + t), hn::Mul(weight, level)), gain), d, out + t);
  });
}

/// Sixteen sums at a time, whatever the vectors' length.
SeriesSums sum_series_simd(const float* values, const float* weights, std::size_t n) {
  constexpr std::size_t kLanes = 16;
  float value[kLanes] = {}, square[kLanes] = {}, weight[kLanes] = {}, weight_square[kLanes] = {},
        product[kLanes] = {};
  std::size_t t = 0;
  for (; t + kLanes <= n; t += kLanes)
    for (std::size_t i = 0; i < kLanes; ++i) {
      value[i] += values[t + i];
      square[i] += values[t + i] * values[t + i];
    }
  if (weights != nullptr)
    for (std::size_t from = 0; from + kLanes <= n; from += kLanes)
      for (std::size_t i = 0; i < kLanes; ++i) {
        weight[i] += weights[from + i];
        weight_square[i] += weights[from + i] * weights[from + i];
        product[i] += values[from + i] * weights[from + i];
      }
  SeriesSums sums;
  for (std::size_t i = 0; i < kLanes; ++i) {
    sums.value += static_cast<double>(value[i]), sums.square += static_cast<double>(square[i]);
    sums.weight += static_cast<double>(weight[i]);
    sums.weight_square += static_cast<double>(weight_square[i]);
    sums.product += static_cast<double>(product[i]);
  }
  for (; t < n; ++t) {
    const double x = static_cast<double>(values[t]), w = weights ? static_cast<double>(weights[t]) : 0;
    sums.value += x, sums.square += x * x, sums.weight += w, sums.weight_square += w * w,
        sums.product += x * w;
  }
  return sums;
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(add_windows_simd);
HWY_EXPORT(largest_of_simd);
HWY_EXPORT(range_of_simd);
HWY_EXPORT(divide_by_root_simd);
HWY_EXPORT(detrend_simd);
HWY_EXPORT(sum_series_simd);

void add_windows(const float* a, const float* b, std::size_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(add_windows_simd)(a, b, n, out);
}
float largest_of(const float* values, std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(largest_of_simd)(values, n);
}
Range range_of(const float* values, std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(range_of_simd)(values, n);
}
void divide_by_root(float* sums, const float* weights, float least, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(divide_by_root_simd)(sums, weights, least, n);
}
void detrend(const float* sums, const float* weights, std::size_t n, const DetrendRun& run, float* out) {
  HWY_DYNAMIC_DISPATCH(detrend_simd)(sums, weights, n, run, out);
}
SeriesSums sum_series(const float* values, const float* weights, std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(sum_series_simd)(values, weights, n);
}

BoxcarProgram plan_boxcars(std::span<const std::size_t> widths) {
  if (widths.empty() || widths[0] == 0 || !std::is_sorted(widths.begin(), widths.end()))
    throw std::invalid_argument("plan_boxcars: widths must ascend from 1 or more");
  BoxcarProgram program;
  program.steps.push_back({1, 0, 0});
  const auto find = [&](std::size_t width) {
    for (std::size_t i = 0; i < program.steps.size(); ++i)
      if (program.steps[i].width == width) return i;
    return program.steps.size();
  };
  // the longest window there is, and the rest, which may need steps of its own
  const auto make = [&](auto&& self, std::size_t width) -> std::size_t {
    if (const std::size_t known = find(width); known < program.steps.size()) return known;
    std::size_t first = 0;
    for (std::size_t i = 0; i < program.steps.size(); ++i)
      if (program.steps[i].width < width && program.steps[i].width > program.steps[first].width) first = i;
    const std::size_t rest = width - program.steps[first].width;
    if (rest > program.steps[first].width) {
      self(self, 2 * program.steps[first].width);
      return self(self, width);
    }
    const std::size_t second = self(self, rest);
    program.steps.push_back({width, first, second});
    return program.steps.size() - 1;
  };
  for (std::size_t width : widths) program.wanted.push_back(make(make, width));
  return program;
}

std::vector<std::size_t> default_widths(std::size_t longest) {
  std::vector<std::size_t> widths;
  for (std::size_t power = 1; power <= longest; power *= 2) {
    widths.push_back(power);
    if (power >= 2 && power / 2 * 3 <= longest) widths.push_back(power / 2 * 3);
  }
  return widths;
}

}  // namespace apsyn
#endif
