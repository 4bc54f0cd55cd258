// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/dedisperse/dedisperse.h"

#include <algorithm>
#include <stdexcept>

#include "kernels/dedisperse/tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dedisperse/dedisperse.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Sums stay in registers over all rows, so that each sample is loaded once and each sum stored once.
void add_samples_simd(const std::int8_t* const* rows, std::size_t n_row, std::size_t n, std::int16_t* out) {
  const hn::ScalableTag<std::int16_t> d16;
  const hn::Rebind<std::int8_t, decltype(d16)> d8;
  const std::size_t lanes = hn::Lanes(d16);
  std::size_t t = 0;
  for (; t + 4 * lanes <= n; t += 4 * lanes) {
    auto a = hn::Zero(d16), b = a, c = a, e = a;
    for (std::size_t i = 0; i < n_row; ++i) {
      const std::int8_t* row = rows[i] + t;
      a = hn::Add(a, hn::PromoteTo(d16, hn::LoadU(d8, row)));
      b = hn::Add(b, hn::PromoteTo(d16, hn::LoadU(d8, row + lanes)));
      c = hn::Add(c, hn::PromoteTo(d16, hn::LoadU(d8, row + 2 * lanes)));
      e = hn::Add(e, hn::PromoteTo(d16, hn::LoadU(d8, row + 3 * lanes)));
    }
    hn::StoreU(a, d16, out + t);
    hn::StoreU(b, d16, out + t + lanes);
    hn::StoreU(c, d16, out + t + 2 * lanes);
    hn::StoreU(e, d16, out + t + 3 * lanes);
  }
  for (; t < n; ++t) {
    int sum = 0;
    for (std::size_t i = 0; i < n_row; ++i) sum += rows[i][t];
    out[t] = static_cast<std::int16_t>(sum);
  }
}

void add_partial_sums_simd(const std::int16_t* const* rows, std::size_t n_row,
                           [[maybe_unused]] std::size_t exact, std::size_t n, float* out) {
  std::size_t t = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<std::int16_t> d16;
  const hn::Half<decltype(d16)> half;
  const hn::ScalableTag<std::int32_t> d32;
  const hn::ScalableTag<float> df;
  const std::size_t lanes = hn::Lanes(d16), wide = hn::Lanes(d32);
  for (; t + 2 * lanes <= n; t += 2 * lanes) {
    auto a = hn::Zero(d32), b = a, c = a, e = a;
    for (std::size_t first = 0; first < n_row; first += exact) {
      const std::size_t end = std::min(n_row, first + exact);
      auto x = hn::Zero(d16), y = x;
      for (std::size_t i = first; i < end; ++i) {
        x = hn::Add(x, hn::LoadU(d16, rows[i] + t));
        y = hn::Add(y, hn::LoadU(d16, rows[i] + t + lanes));
      }
      a = hn::Add(a, hn::PromoteTo(d32, hn::LowerHalf(half, x)));
      b = hn::Add(b, hn::PromoteTo(d32, hn::UpperHalf(half, x)));
      c = hn::Add(c, hn::PromoteTo(d32, hn::LowerHalf(half, y)));
      e = hn::Add(e, hn::PromoteTo(d32, hn::UpperHalf(half, y)));
    }
    hn::StoreU(hn::ConvertTo(df, a), df, out + t);
    hn::StoreU(hn::ConvertTo(df, b), df, out + t + wide);
    hn::StoreU(hn::ConvertTo(df, c), df, out + t + 2 * wide);
    hn::StoreU(hn::ConvertTo(df, e), df, out + t + 3 * wide);
  }
#endif
  for (; t < n; ++t) {
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < n_row; ++i) sum += rows[i][t];
    out[t] = static_cast<float>(sum);
  }
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(add_samples_simd);
HWY_EXPORT(add_partial_sums_simd);

void add_samples(const std::int8_t* const* rows, std::size_t n_row, std::size_t n, std::int16_t* out) {
  HWY_DYNAMIC_DISPATCH(add_samples_simd)(rows, n_row, n, out);
}
void add_partial_sums(const std::int16_t* const* rows, std::size_t n_row, std::size_t exact, std::size_t n,
                      float* out) {
  HWY_DYNAMIC_DISPATCH(add_partial_sums_simd)(rows, n_row, exact, n, out);
}

void dedisperse(const DedispersionPlan& plan, const DedispersionBatch& batch, const SampleRows& rows,
                std::size_t n_time, DedispersionScratch& scratch, View<float, 2> out) {
  if (out.extent(0) < batch.dm.size() || out.extent(1) < n_time)
    throw std::length_error("dedisperse: the output is smaller than the batch");
  const std::size_t n_sub = plan.n_subband();
  std::size_t widest = 1;
  for (std::size_t s = 0; s < n_sub; ++s)
    widest = std::max(widest, plan.first_chan[s + 1] - plan.first_chan[s]);
  const std::size_t exact = kMaxSubbandChannels / widest;
  scratch.sums.resize(tile_samples(batch));
  std::vector<const std::int8_t*> samples(widest);
  std::vector<std::size_t> sum_at(batch.sums.size());
  std::vector<const std::int16_t*> parts(n_sub);
  for (std::size_t begin = 0; begin < n_time; begin += kTileTime) {
    const std::size_t n = std::min(kTileTime, n_time - begin);
    std::size_t used = 0;
    for (std::size_t i = 0; i < batch.sums.size(); ++i) {
      const PartialSum& sum = batch.sums[i];
      const std::size_t first = plan.first_chan[sum.subband], n_in = sum.offset.size();
      for (std::size_t j = 0; j < n_in; ++j)
        samples[j] = rows.first + (first + j) * rows.stride + begin + sum.first_shift + sum.offset[j];
      const std::size_t span = n + sum.last_shift - sum.first_shift;
      add_samples(samples.data(), n_in, span, scratch.sums.data() + used);
      sum_at[i] = used;
      used += span;
    }
    for (std::size_t trial = 0; trial < batch.dm.size(); ++trial) {
      for (std::size_t s = 0; s < n_sub; ++s) {
        const PartialUse& use = batch.uses(trial, s);
        parts[s] = scratch.sums.data() + sum_at[use.row] + use.shift - batch.sums[use.row].first_shift;
      }
      add_partial_sums(parts.data(), n_sub, exact, n, &out(trial, begin));
    }
  }
}

}  // namespace apsyn
#endif
