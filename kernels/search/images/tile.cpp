// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/search/images/tile.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/search/images/tile.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
using Shorts = hn::Rebind<std::int16_t, Floats>;
using Integers = hn::Rebind<std::int32_t, Floats>;
using Wide = hn::CappedTag<std::int16_t, 32>;  // of which two cover a tile at least once

HWY_INLINE hn::Vec<Floats> load_steps(const std::int16_t* from) {
  return hn::ConvertTo(Floats(), hn::PromoteTo(Integers(), hn::LoadU(Shorts(), from)));
}

HWY_INLINE void store_steps(hn::Vec<Floats> values, hn::Mask<Floats> valid, std::int16_t blank,
                            std::int16_t* to) {
  const Floats d;
  const auto bounded = hn::Min(hn::Max(values, hn::Set(d, -32767.0f)), hn::Set(d, 32767.0f));
  const auto kept = hn::IfThenElse(valid, bounded, hn::Set(d, static_cast<float>(blank)));
  hn::StoreU(hn::DemoteTo(Shorts(), hn::NearestInt(kept)), Shorts(), to);
}

std::int16_t quantise_simd(const float* values, std::size_t n, const float* reference, float steps,
                           std::int16_t* out) {
  alignas(64) float padded[kTilePixels];
  if (n < kTilePixels) {
    std::copy_n(values, n, padded);
    std::fill(padded + n, padded + kTilePixels, std::numeric_limits<float>::quiet_NaN());
    values = padded;
  }
  const Floats d;
  auto largest = hn::Set(d, -32767.0f);
  for (std::size_t i = 0; i < kTilePixels; i += hn::Lanes(d)) {
    const auto scaled =
        hn::Mul(hn::Sub(hn::LoadU(d, values + i), hn::LoadU(d, reference + i)), hn::Set(d, steps));
    const auto valid = hn::IsFinite(scaled);
    store_steps(scaled, valid, kBlankPixel, out + i);
    largest = hn::Max(largest, hn::IfThenElse(valid, scaled, hn::Set(d, -32767.0f)));
  }
  return static_cast<std::int16_t>(std::min(hn::GetLane(hn::MaxOfLanes(d, largest)), 32767.0f));
}

/// Mean and variance of what `visit(take)` shows, once and again for each clipping: take(value, valid).
template <class Visit>
HWY_INLINE void clipped_moments(float min_values, int n_clipping, Visit visit, hn::Vec<Floats>& mean,
                                hn::Vec<Floats>& variance) {
  const Floats d;
  const auto one = hn::Set(d, 1.0f), zero = hn::Zero(d);
  auto n = zero, sum = zero, square = zero;
  visit([&](auto value, auto valid) HWY_ATTR {
    const auto kept = hn::IfThenElseZero(valid, value);
    n = hn::Add(n, hn::IfThenElseZero(valid, one));
    sum = hn::Add(sum, kept), square = hn::Add(square, hn::Mul(kept, kept));
  });
  const auto enough = hn::Ge(n, hn::Set(d, min_values));
  mean = hn::Div(sum, hn::Max(n, one));
  variance = hn::Max(zero, hn::Sub(hn::Div(square, hn::Max(n, one)), hn::Mul(mean, mean)));
  for (int clipping = 0; clipping < n_clipping; ++clipping) {
    const auto bound = hn::Mul(hn::Set(d, 9.0f), variance);
    n = sum = square = zero;
    const auto last_mean = mean;
    visit([&](auto value, auto valid) HWY_ATTR {
      const auto off = hn::Sub(value, last_mean), off_square = hn::Mul(off, off);
      const auto inside = hn::And(valid, hn::Le(off_square, bound));
      n = hn::Add(n, hn::IfThenElseZero(inside, one));
      sum = hn::Add(sum, hn::IfThenElseZero(inside, off));
      square = hn::Add(square, hn::IfThenElseZero(inside, off_square));
    });
    const auto shift = hn::Div(sum, hn::Max(n, one));
    mean = hn::Add(last_mean, shift);
    variance = hn::Max(zero, hn::Sub(square, hn::Mul(n, hn::Mul(shift, shift))));
    variance = hn::Div(variance, hn::Mul(hn::Set(d, kClippedVariance), hn::Max(hn::Sub(n, one), one)));
  }
  const auto unknown = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
  mean = hn::IfThenElse(enough, mean, unknown);
  variance = hn::IfThenElse(enough, variance, unknown);
}

void measure_channel_simd(const TileRing& ring, const FrameFlags& flags, std::size_t chan,
                          const FrameSpan& frames, float* mean, float* deviation) {
  const Floats d;
  for (std::size_t i = 0; i < kTilePixels; i += hn::Lanes(d)) {
    hn::Vec<Floats> middle, variance;
    clipped_moments(
        min_frames(frames.n), kChannelClippings,
        [&](auto take) HWY_ATTR {
          for (std::size_t t = 0; t < frames.n; ++t) {
            const std::int64_t frame = frames.first + static_cast<std::int64_t>(t);
            if (!flags.usable(chan, frame)) continue;
            const auto value = load_steps(ring.row(chan, frame) + i);
            take(value, hn::Ne(value, hn::Set(d, static_cast<float>(kBlankPixel))));
          }
        },
        middle, variance);
    hn::StoreU(middle, d, mean + i);
    hn::StoreU(hn::Sqrt(variance), d, deviation + i);
  }
}

void measure_band_simd(const TileRing& ring, const FrameFlags& flags, const FrameSpan& frames,
                       std::span<const float> mean, std::span<const float> factor,
                       std::vector<float>& scratch, float* variance) {
  const Floats d;
  const std::size_t n_chan = factor.size();
  scratch.assign(frames.n * kTilePixels, 0.0f);
  std::vector<bool> seen(frames.n);
  for (std::size_t t = 0; t < frames.n; ++t) {
    const std::int64_t frame = frames.first + static_cast<std::int64_t>(t);
    float* to = scratch.data() + t * kTilePixels;
    std::size_t n = 0;
    for (std::size_t chan = 0; chan < n_chan; ++chan) {
      if (factor[chan] == 0 || !flags.usable(chan, frame)) continue;
      ++n;
      const std::int16_t* row = ring.row(chan, frame);
      for (std::size_t i = 0; i < kTilePixels; i += hn::Lanes(d)) {
        const auto value = load_steps(row + i),
                   off = hn::Sub(value, hn::LoadU(d, mean.data() + chan * kTilePixels + i));
        const auto valid =
            hn::And(hn::Ne(value, hn::Set(d, static_cast<float>(kBlankPixel))), hn::Eq(off, off));
        hn::StoreU(
            hn::Add(hn::LoadU(d, to + i), hn::IfThenElseZero(valid, hn::Mul(off, hn::Set(d, factor[chan])))),
            d, to + i);
      }
    }
    seen[t] = n > 0;
    if (n == 0) continue;
    const auto root = hn::Set(d, 1 / std::sqrt(static_cast<float>(n)));
    for (std::size_t i = 0; i < kTilePixels; i += hn::Lanes(d))
      hn::StoreU(hn::Mul(hn::LoadU(d, to + i), root), d, to + i);
  }
  for (std::size_t i = 0; i < kTilePixels; i += hn::Lanes(d)) {
    hn::Vec<Floats> middle, spread;
    clipped_moments(
        min_frames(frames.n), kBandClippings,
        [&](auto take) HWY_ATTR {
          for (std::size_t t = 0; t < frames.n; ++t)
            if (seen[t]) {
              const auto value = hn::LoadU(d, scratch.data() + t * kTilePixels + i);
              take(value, hn::Eq(value, value));
            }
        },
        middle, spread);
    hn::StoreU(hn::IfThenElseZero(hn::Eq(spread, spread), spread), d, variance + i);
  }
}

void normalise_simd(const TileRing& ring, const FrameFlags& flags, std::size_t chan, const FrameSpan& frames,
                    const PixelScaling& scaling) {
  const Floats d;
  for (std::size_t t = 0; t < frames.n; ++t) {
    const std::int64_t frame = frames.first + static_cast<std::int64_t>(t);
    std::int16_t* row = ring.row(chan, frame);
    if (!flags.usable(chan, frame)) {
      std::fill_n(row, kTilePixels, std::int16_t{0});
      continue;
    }
    const auto ramp = hn::Set(d, scaling.ramp + static_cast<float>(t) * scaling.ramp_step);
    for (std::size_t i = 0; i < kTilePixels; i += hn::Lanes(d)) {
      const auto value = load_steps(row + i);
      const auto valid = hn::Ne(value, hn::Set(d, static_cast<float>(kBlankPixel)));
      const auto off =
          hn::Add(hn::LoadU(d, scaling.offset + i), hn::Mul(hn::LoadU(d, scaling.slope + i), ramp));
      store_steps(hn::Add(hn::Mul(value, hn::LoadU(d, scaling.scale + i)), off), valid, 0, row + i);
    }
  }
}

/// Looks at windows of one width that begin at one frame.
HWY_INLINE void look_at(const std::int16_t* sums, std::int16_t below, const TileHit& window, float to_sn,
                        double threshold, TileHit* best) {
  const Wide d;
  const auto bound = hn::Set(d, below);
  bool any = false;
  for (std::size_t i = 0; i < kTilePixels; i += hn::Lanes(d))
    any = any || !hn::AllFalse(d, hn::Gt(hn::LoadU(d, sums + i), bound));
  if (HWY_LIKELY(!any)) return;
  for (std::uint32_t pixel = 0; pixel < kTilePixels; ++pixel) {
    const float sn = static_cast<float>(sums[pixel]) * to_sn;
    if (sums[pixel] <= below || static_cast<double>(sn) < threshold || sn <= best[pixel].sn) continue;
    best[pixel] = window;
    best[pixel].sn = sn, best[pixel].pixel = pixel;
  }
}

void scan_tile_simd(const TileRing& ring, const ScanTable& table, ScanScratch& scratch,
                    std::vector<TileHit>& hits) {
  const Wide d;
  const BoxcarProgram& program = *table.program;
  const std::size_t n_chan = table.delay.extent(1), n_trial = table.delay.extent(0),
                    n_width = program.wanted.size(), group = program.longest(),
                    n_sum = table.n_begin + group - 1, n_group = (table.n_begin + group - 1) / group;
  scratch.sums.resize(program.steps.size() * n_sum * kTilePixels);
  scratch.rows.resize(n_chan), scratch.places.resize(n_chan);
  const auto sums_of = [&](std::size_t step) { return scratch.sums.data() + step * n_sum * kTilePixels; };
  for (std::uint32_t trial = 0; trial < n_trial; ++trial) {
    for (std::size_t chan = 0; chan < n_chan; ++chan)
      scratch.places[chan] =
          (static_cast<std::size_t>(table.first) + table.delay(trial, chan)) % ring.n_frame;
    for (std::size_t t = 0; t < n_sum; ++t) {
      for (std::size_t chan = 0; chan < n_chan; ++chan) {
        std::size_t& place = scratch.places[chan];  // counted, as divisions would take longer than the sums
        scratch.rows[chan] = ring.first + (place * ring.n_row + chan) * kTilePixels;
        if (++place == ring.n_frame) place = 0;
      }
      std::int16_t* to = sums_of(0) + t * kTilePixels;
      for (std::size_t i = 0; i < kTilePixels; i += 2 * hn::Lanes(d)) {
        auto a = hn::Zero(d), b = hn::Zero(d);
        for (const std::int16_t* row : scratch.rows) {
          a = hn::SaturatedAdd(a, hn::LoadU(d, row + i));
          b = hn::SaturatedAdd(b, hn::LoadU(d, row + i + hn::Lanes(d)));
        }
        hn::StoreU(a, d, to + i);
        hn::StoreU(b, d, to + i + hn::Lanes(d));
      }
    }
    for (std::size_t step = 1; step < program.steps.size(); ++step) {
      const BoxcarStep& s = program.steps[step];
      const std::int16_t *a = sums_of(s.first),
                         *b = sums_of(s.second) + program.steps[s.first].width * kTilePixels;
      std::int16_t* to = sums_of(step);
      for (std::size_t i = 0; i < (n_sum + 1 - s.width) * kTilePixels; i += hn::Lanes(d))
        hn::StoreU(hn::SaturatedAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, to + i);
    }
    scratch.best.assign(n_group * kTilePixels, TileHit{});
    for (std::uint32_t width = 0; width < n_width; ++width)
      for (std::size_t t = 0; t < table.n_begin; ++t)
        look_at(sums_of(program.wanted[width]) + t * kTilePixels, table.below(trial, width, t),
                {trial, width, table.first + static_cast<std::int64_t>(t), 0, 0},
                table.to_sn(trial, width, t), table.threshold, scratch.best.data() + t / group * kTilePixels);
    for (const TileHit& hit : scratch.best)
      if (hit.sn > 0) hits.push_back(hit);
  }
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(quantise_simd);
HWY_EXPORT(measure_channel_simd);
HWY_EXPORT(measure_band_simd);
HWY_EXPORT(normalise_simd);
HWY_EXPORT(scan_tile_simd);

std::int16_t quantise_pixels(const float* values, std::size_t n, const float* reference, float steps,
                             std::int16_t* out) {
  return HWY_DYNAMIC_DISPATCH(quantise_simd)(values, n, reference, steps, out);
}
void measure_channel(const TileRing& ring, const FrameFlags& flags, std::size_t chan, const FrameSpan& frames,
                     float* mean, float* deviation) {
  HWY_DYNAMIC_DISPATCH(measure_channel_simd)(ring, flags, chan, frames, mean, deviation);
}
void measure_band(const TileRing& ring, const FrameFlags& flags, const FrameSpan& frames,
                  std::span<const float> mean, std::span<const float> factor, std::vector<float>& scratch,
                  float* variance) {
  HWY_DYNAMIC_DISPATCH(measure_band_simd)(ring, flags, frames, mean, factor, scratch, variance);
}
void normalise_pixels(const TileRing& ring, const FrameFlags& flags, std::size_t chan,
                      const FrameSpan& frames, const PixelScaling& scaling) {
  HWY_DYNAMIC_DISPATCH(normalise_simd)(ring, flags, chan, frames, scaling);
}
void scan_tile(const TileRing& ring, const ScanTable& table, ScanScratch& scratch,
               std::vector<TileHit>& hits) {
  HWY_DYNAMIC_DISPATCH(scan_tile_simd)(ring, table, scratch, hits);
}

}  // namespace apsyn
#endif
