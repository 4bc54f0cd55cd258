// SPDX-License-Identifier: GPL-3.0-or-later
// Spectra as they come, inputs beside each other, turned into rows of time.
#include "kernels/beamform/cpu/tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/beamform/cpu/tile_turn.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
constexpr std::size_t kRow = kTileSpectra;

#if HWY_TARGET != HWY_SCALAR
/// Four inputs by four spectra: rows of inputs become rows of spectra.
HWY_INLINE void turn_four(const float* from, std::size_t from_stride, float* to, std::size_t to_stride) {
  const hn::FixedTag<float, 4> d;
  const hn::Repartition<double, decltype(d)> pairs;
  const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + from_stride);
  const auto c = hn::LoadU(d, from + 2 * from_stride), e = hn::LoadU(d, from + 3 * from_stride);
  const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
  const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
  const auto ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
  const auto ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_low, ce_low)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_low, ce_low)), d, to + to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ce_high)), d, to + 2 * to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ce_high)), d, to + 3 * to_stride);
}
#endif

void turn_tile_simd(const TileSource& source, float* out) {
  for (std::size_t input = 0; input < source.n_input; input += 4) {
    const float* from = source.first + input / kPanelInputs * source.panel_stride + input % kPanelInputs;
    for (std::size_t part = 0; part < 2; ++part, from += kPanelInputs) {
      float* to = out + (2 * input + part) * kRow;
      std::size_t t = 0;
#if HWY_TARGET != HWY_SCALAR
      if (input + 4 <= source.n_input)
        for (; t + 4 <= source.n_spectra; t += 4)
          turn_four(from + t * 2 * kPanelInputs, 2 * kPanelInputs, to + t, 2 * kRow);
#endif
      const std::size_t n = source.n_input - input < 4 ? source.n_input - input : 4;
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t rest = t; rest < source.n_spectra; ++rest)
          to[2 * i * kRow + rest] = from[rest * 2 * kPanelInputs + i];
        for (std::size_t rest = source.n_spectra; rest < kRow; ++rest) to[2 * i * kRow + rest] = 0;
      }
    }
  }
}

#if HWY_TARGET != HWY_SCALAR
/// Four inputs by four pairs of codes: rows of inputs become 8 spectra each of real and imaginary parts.
HWY_INLINE void turn_four_coded(const std::int8_t* from, float* to) {
  const hn::FixedTag<std::int32_t, 4> words;
  const hn::Repartition<std::int64_t, decltype(words)> pairs;
  const hn::Repartition<std::int16_t, decltype(words)> samples;
  const auto load = [&](std::size_t pair) HWY_ATTR {
    return hn::BitCast(words,
                       hn::LoadU(hn::Repartition<std::int8_t, decltype(words)>(), from + pair * kCodeBytes));
  };
  const auto a = load(0), b = load(1), c = load(2), e = load(3);
  const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(words, a, b));
  const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(words, a, b));
  const auto ce_low = hn::BitCast(pairs, hn::InterleaveLower(words, c, e));
  const auto ce_high = hn::BitCast(pairs, hn::InterleaveUpper(words, c, e));
  // a sample is 16 bits, the real part in the lower 8
  const auto store = [&](auto row, float* out) HWY_ATTR {
    const auto both = hn::BitCast(samples, row);
    const auto re = hn::ShiftRight<8>(hn::ShiftLeft<8>(both)), im = hn::ShiftRight<8>(both);
#if HWY_TARGET <= HWY_AVX2
    const hn::FixedTag<float, 8> wide;
    const hn::RebindToSigned<decltype(wide)> integers;
    hn::StoreU(hn::ConvertTo(wide, hn::PromoteTo(integers, re)), wide, out);
    hn::StoreU(hn::ConvertTo(wide, hn::PromoteTo(integers, im)), wide, out + kRow);
#else
    const hn::FixedTag<float, 4> half;
    const hn::Half<decltype(samples)> lower;
    hn::StoreU(hn::ConvertTo(half, hn::PromoteTo(words, hn::LowerHalf(lower, re))), half, out);
    hn::StoreU(hn::ConvertTo(half, hn::PromoteTo(words, hn::UpperHalf(lower, re))), half, out + 4);
    hn::StoreU(hn::ConvertTo(half, hn::PromoteTo(words, hn::LowerHalf(lower, im))), half, out + kRow);
    hn::StoreU(hn::ConvertTo(half, hn::PromoteTo(words, hn::UpperHalf(lower, im))), half, out + kRow + 4);
#endif
  };
  store(hn::InterleaveLower(pairs, ab_low, ce_low), to);
  store(hn::InterleaveUpper(pairs, ab_low, ce_low), to + 2 * kRow);
  store(hn::InterleaveLower(pairs, ab_high, ce_high), to + 4 * kRow);
  store(hn::InterleaveUpper(pairs, ab_high, ce_high), to + 6 * kRow);
}
#endif

void turn_coded_tile_simd(const CodedTileSource& source, float* out) {
  for (std::size_t input = 0; input < source.n_input; input += 4) {
    const std::int8_t* from =
        source.first + input / kPanelInputs * source.panel_stride + input % kPanelInputs * 4;
    float* to = out + 2 * input * kRow;
    std::size_t t = 0;
#if HWY_TARGET != HWY_SCALAR
    if (input + 4 <= source.n_input && source.begin % 2 == 0)
      for (; t + 8 <= source.n_spectra; t += 8)
        turn_four_coded(from + (source.begin + t) / 2 * kCodeBytes, to + t);
#endif
    const std::size_t n = source.n_input - input < 4 ? source.n_input - input : 4;
    for (std::size_t i = 0; i < n; ++i, to += 2 * kRow)
      for (std::size_t rest = t; rest < kRow; ++rest) {
        const std::size_t spectrum = source.begin + rest;
        const std::int8_t* sample = from + spectrum / 2 * kCodeBytes + 4 * i + spectrum % 2 * 2;
        to[rest] = rest < source.n_spectra ? sample[0] : 0.0f;
        to[kRow + rest] = rest < source.n_spectra ? sample[1] : 0.0f;
      }
  }
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(turn_tile_simd);
HWY_EXPORT(turn_coded_tile_simd);

void turn_tile(const TileSource& source, float* out) {
  HWY_DYNAMIC_DISPATCH(turn_tile_simd)(source, out);
}
void turn_coded_tile(const CodedTileSource& source, float* out) {
  HWY_DYNAMIC_DISPATCH(turn_coded_tile_simd)(source, out);
}

}  // namespace apsyn
#endif
