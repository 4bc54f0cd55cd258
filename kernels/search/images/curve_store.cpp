// SPDX-License-Identifier: GPL-3.0-or-later
// Light curves in memory, tile by tile, by threads.
#include "kernels/search/images/curve_store.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/search/images/scaling.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
/// Hits that a device has room for at least.
constexpr std::size_t kMinHits = std::size_t{1} << 21;

class CpuCurveReader final : public CurveReader {
 public:
  CpuCurveReader(const std::int16_t* ring, std::size_t n_frame, std::size_t n_row)
      : ring_(ring), n_frame_(n_frame), n_row_(n_row) {}
  PixelCurve at(std::size_t pixel) override {
    return {ring_ + pixel / kTilePixels * n_frame_ * n_row_ * kTilePixels + pixel % kTilePixels, n_frame_,
            n_row_ * kTilePixels, kTilePixels};
  }

 private:
  const std::int16_t* ring_;
  std::size_t n_frame_, n_row_;
};

class CpuCurveStore final : public CurveStore {
 public:
  explicit CpuCurveStore(const LightCurvePlan& plan) : plan_(plan) {
    const std::size_t n_tile = plan.n_tile();
    resize_by_threads<std::int16_t, 4>(
        plan.n_threads, {n_tile, plan.n_frame, TileRing::rows(plan.n_chan), kTilePixels}, ring_);
    resize_by_threads<float, 4>(plan.n_threads, {n_tile, kPieceSlots, plan.n_chan, kTilePixels}, mean_);
    resize_by_threads<float, 4>(plan.n_threads, {n_tile, kPieceSlots, plan.n_chan, kTilePixels}, reference_);
    peaks_.resize({plan.piece, plan.n_chan});
  }

  void start_piece(std::size_t slot, std::size_t before) override {
    for_tiles([&](std::size_t tile) {
      for (std::size_t chan = 0; chan < plan_.n_chan; ++chan)
        for (std::size_t i = 0; i < kTilePixels; ++i) {
          const float mean = mean_(tile, before, chan, i);
          reference_(tile, slot, chan, i) = std::isnan(mean) ? reference_(tile, before, chan, i) : mean;
        }
    });
  }

  void copy_references(std::size_t slot, std::span<const std::size_t> pixels,
                       View<float, 2> to) const override {
    for (std::size_t chan = 0; chan < plan_.n_chan; ++chan)
      for (std::size_t i = 0; i < pixels.size(); ++i)
        to(chan, i) = reference_(pixels[i] / kTilePixels, slot, chan, pixels[i] % kTilePixels);
  }

  void receive(std::span<const float>) override {}

  void store(std::span<const float> planes, std::int64_t frame, std::size_t in_piece, std::size_t slot,
             std::span<const ChannelUse> use) override {
    const std::size_t n_pixel = plan_.n_pixel(), n_chan = plan_.n_chan;
    Buffer<std::int16_t, 2> largest({plan_.n_tile(), n_chan});
    for_tiles([&](std::size_t tile) {
      const std::size_t first = tile * kTilePixels, n = std::min(kTilePixels, n_pixel - first);
      const TileRing own = ring(tile);
      for (std::size_t chan = 0; chan < n_chan; ++chan) {
        if (use[chan].missing) {
          std::fill_n(own.row(chan, frame), kTilePixels, kBlankPixel);
          continue;
        }
        const float* values = planes.data() + chan * n_pixel + first;
        float* reference = &reference_(tile, slot, chan, 0);
        if (use[chan].is_reference)
          for (std::size_t i = 0; i < n; ++i) reference[i] = std::isfinite(values[i]) ? values[i] : 0;
        largest(tile, chan) = quantise_pixels(values, n, reference, 1 / use[chan].step, own.row(chan, frame));
      }
    });
    for (std::size_t chan = 0; chan < n_chan; ++chan) {
      std::int16_t peak = -32767;
      for (std::size_t tile = 0; tile < plan_.n_tile(); ++tile) peak = std::max(peak, largest(tile, chan));
      peaks_(in_piece, chan) = peak;
    }
  }

  void copy_peaks(View<std::int16_t, 2> to) const override {
    std::copy_n(peaks_.data(), to.size(), to.data());
  }

  void clear(const FrameSpan& frames) override {
    for_tiles([&](std::size_t tile) {
      for (std::size_t t = 0; t < frames.n; ++t)
        for (std::size_t chan = 0; chan < plan_.n_chan; ++chan)
          std::fill_n(ring(tile).row(chan, frames.first + static_cast<std::int64_t>(t)), kTilePixels,
                      std::int16_t{0});
    });
  }

  void measure_channels(const PieceFrames& piece, std::size_t every, View<float, 3> deviations) override {
    for_tiles([&](std::size_t tile) {
      std::array<float, kTilePixels> mean, deviation;
      for (std::size_t chan = 0; chan < plan_.n_chan; ++chan) {
        measure_channel(ring(tile), piece.flags, chan, piece.frames, mean.data(), deviation.data());
        for (std::size_t i = 0; i < kTilePixels; ++i)
          mean_(tile, piece.slot, chan, i) =
              reference_(tile, piece.slot, chan, i) + mean[i] * piece.step[chan];
        if (tile % every == 0)
          std::copy(deviation.begin(), deviation.end(), &deviations(chan, tile / every, 0));
      }
    });
  }

  void forget_means(std::size_t slot) override {
    for_tiles(
        [&](std::size_t tile) { std::fill_n(&mean_(tile, slot, 0, 0), plan_.n_chan * kTilePixels, kNan); });
  }

  void measure_band(const PieceFrames& piece, std::span<const float> factor,
                    std::span<float> variance) override {
    const std::size_t n_chan = plan_.n_chan;
    for_tiles([&](std::size_t tile) {
      thread_local std::vector<float> mean, scratch;
      mean.resize(n_chan * kTilePixels);
      for (std::size_t chan = 0; chan < n_chan; ++chan)
        for (std::size_t i = 0; i < kTilePixels; ++i)
          mean[chan * kTilePixels + i] =
              (mean_(tile, piece.slot, chan, i) - reference_(tile, piece.slot, chan, i)) / piece.step[chan];
      apsyn::measure_band(ring(tile), piece.flags, piece.frames, mean, factor, scratch,
                          variance.data() + tile * kTilePixels);
    });
  }

  void normalise(const Normalisation& task) override {
    for_tiles([&](std::size_t tile) {
      alignas(64) std::array<float, kTilePixels> from, to, scale, offset, slope;
      const float* pixel = task.pixel.data() + tile * kTilePixels;
      for (std::size_t chan = 0; chan < plan_.n_chan; ++chan) {
        level(tile, chan, task.levels.from, from);
        if (task.levels.is_line) level(tile, chan, task.levels.to, to);
        for (std::size_t i = 0; i < kTilePixels; ++i) {
          const PixelScale s = pixel_scale(task.channel[chan] * pixel[i], task.piece.step[chan],
                                           reference_(tile, task.piece.slot, chan, i), from[i],
                                           task.levels.is_line ? to[i] : from[i]);
          scale[i] = s.scale, offset[i] = s.offset, slope[i] = s.slope;
        }
        normalise_pixels(ring(tile), task.piece.flags, chan, task.piece.frames,
                         {scale.data(), offset.data(), slope.data(), task.ramp, task.ramp_step});
      }
    });
  }

  void scan(const ScanTable& table, const TakeTileHits& take) override {
    for_tiles([&](std::size_t tile) {
      thread_local ScanScratch scratch;
      thread_local std::vector<TileHit> hits;
      hits.clear();
      scan_tile(ring(tile), table, scratch, hits);
      if (!hits.empty()) take(tile, hits);
    });
  }

  void copy_plane(std::int64_t frame, std::size_t chan, std::span<std::int16_t> to) const override {
    for (std::size_t pixel = 0; pixel < to.size(); ++pixel)
      to[pixel] = ring(pixel / kTilePixels).row(chan, frame)[pixel % kTilePixels];
  }

  std::unique_ptr<CurveReader> reader() const override {
    return std::make_unique<CpuCurveReader>(ring_.data(), plan_.n_frame, TileRing::rows(plan_.n_chan));
  }

  std::shared_ptr<void> prepare(std::span<float>) const override { return nullptr; }

 private:
  TileRing ring(std::size_t tile) const {
    const std::size_t n_row = TileRing::rows(plan_.n_chan), size = n_row * plan_.n_frame * kTilePixels;
    return {const_cast<std::int16_t*>(ring_.data()) + tile * size, plan_.n_frame, n_row};
  }

  template <class Work>
  void for_tiles(Work work) {
    parallel_for(plan_.n_threads, plan_.n_tile(), [&](std::size_t tile, unsigned) { work(tile); });
  }

  void level(std::size_t tile, std::size_t chan, const std::array<int, 5>& slots,
             std::array<float, kTilePixels>& out) const {
    static const std::array<float, kTilePixels> kUnknown = [] {
      std::array<float, kTilePixels> values;
      values.fill(kNan);
      return values;
    }();
    std::array<const float*, 5> near;
    for (std::size_t j = 0; j < near.size(); ++j)
      near[j] = slots[j] != Levels::kNoSlot ? &mean_(tile, static_cast<std::size_t>(slots[j]), chan, 0)
                                            : kUnknown.data();
    // all pixels as if all four were known, which they are almost always
    for (std::size_t i = 0; i < kTilePixels; ++i)
      out[i] = mean_of_middle(near[0][i], near[1][i], near[3][i], near[4][i]);
    for (std::size_t i = 0; i < kTilePixels; ++i)
      if (std::isnan(out[i])) {
        const float some[5] = {near[0][i], near[1][i], near[2][i], near[3][i], near[4][i]};
        out[i] = level_of_some(some);
      }
  }

  LightCurvePlan plan_;
  Buffer<std::int16_t, 4> ring_;       ///< [tile][frame][row][pixel]
  Buffer<float, 4> mean_, reference_;  ///< [tile][slot][chan][pixel], in units of the image
  Buffer<std::int16_t, 2> peaks_;      ///< [frame of the piece][chan]
};

}  // namespace

std::unique_ptr<CurveStore> make_cpu_curve_store(const LightCurvePlan& plan) {
  return std::make_unique<CpuCurveStore>(plan);
}

double cpu_curve_store_bytes(const LightCurvePlan& plan) {
  return static_cast<double>(plan.n_lane()) *
         (2.0 * static_cast<double>(plan.n_frame * TileRing::rows(plan.n_chan)) +
          8.0 * static_cast<double>(kPieceSlots * plan.n_chan));
}

double cuda_curve_store_host_bytes(const LightCurvePlan& plan) {
  // a pinned plane, a plane of the beam, and what a reader has fetched around a pulse
  const double fetched = static_cast<double>(plan.n_frame * plan.n_chan * kDeviceTilePixels) * 2;
  return static_cast<double>(plan.n_lane()) * 6 + fetched * 160;
}

double cuda_curve_store_bytes(const LightCurvePlan& plan, std::size_t n_trial, std::size_t n_width,
                              std::size_t longest) {
  const double lanes = static_cast<double>(plan.n_lane()), n_chan = static_cast<double>(plan.n_chan),
               n_frame = static_cast<double>(plan.n_frame), piece = static_cast<double>(plan.piece);
  const double table = static_cast<double>(n_trial) * (static_cast<double>(n_width) * piece * 6 + 4 * n_chan);
  const std::size_t n_group = (plan.piece + longest - 1) / longest;
  constexpr std::size_t kLong = 64;  // windows up to this one fit into shared memory
  const double scratch = longest > kLong ? static_cast<double>(kDeviceScratchBytes) : 0;
  return lanes * (n_chan * (2 * n_frame + 8.0 * kPieceSlots + 4) + 5 * piece + 8) + table + scratch +
         24.0 * static_cast<double>(device_hit_capacity(n_trial, n_group));
}

std::size_t device_hit_capacity(std::size_t n_trial, std::size_t n_group) {
  return std::max(kMinHits, kTilePixels * n_trial * n_group);
}

}  // namespace apsyn
