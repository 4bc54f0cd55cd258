// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <utility>

#include "kernels/excise/excise.h"
#include "kernels/excise/normalise.h"
#include "kernels/excise/piece_sums.h"
#include "libcore/base/median.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

/// Channels that a thread takes at a time: a cache line of 8-bit samples, or a quarter of it where there
/// would be too few groups for all threads.
constexpr std::size_t kGroupChannels = 64, kFewestChannels = 16;
constexpr std::size_t kTimeGroups = 16;
/// Of a channel's values; with more that are not finite, sums would count too many.
constexpr double kMaxNotFinite = 0.01;

/// Calls work(first channel, samples [chan][time], thread) for all channels, NaN at the times `missing`.
template <class Work>
void for_channels(const ExciseSettings& settings, const BlockSamples& samples,
                  const std::vector<std::size_t>& missing, Work work) {
  std::size_t together = kGroupChannels;
  while (together > kFewestChannels && settings.n_chan / together < 2 * settings.n_threads) together /= 2;
  const std::size_t n_group = (settings.n_chan + together - 1) / together;
  std::vector<Buffer<float, 2>> tile(settings.n_threads);
  // rows a multiple of 4096 bytes apart would share cache sets
  const std::size_t row = (samples.n_time() + 15) / 16 * 16 + 16;
  parallel_for(settings.n_threads, n_group, [&](std::size_t group, unsigned thread) {
    const std::size_t first = group * together, n = std::min(together, settings.n_chan - first);
    tile[thread].resize_for_overwrite({n, row});
    samples.channels(first, tile[thread]);
    for (std::size_t i = 0; i < n && !missing.empty(); ++i)
      for (const std::size_t t : missing) tile[thread](i, t) = std::numeric_limits<float>::quiet_NaN();
    work(first, tile[thread].view(), thread);
  });
}

void measure_channel(const float* samples, std::size_t chan, BlockStatistics& s, std::size_t& n_not_finite) {
  float about = 0;
  for (std::size_t t = 0; t < s.n_time; ++t)
    if (std::isfinite(samples[t])) {
      about = samples[t];
      break;
    }
  std::vector<double> mean, variance;
  std::size_t n_finite = 0;
  double n_piece = 0;
  for (std::size_t piece = 0; piece < kStatisticPieces; ++piece) {
    const std::size_t from = piece * s.n_time / kStatisticPieces,
                      to = (piece + 1) * s.n_time / kStatisticPieces;
    const PieceSums sums = sum_piece(samples + from, to - from, about);
    n_finite += sums.n;
    if (2 * sums.n < to - from || sums.n < 2) continue;
    const double n = static_cast<double>(sums.n);
    mean.push_back(sums.sum / n);
    variance.push_back(std::max(0.0, sums.square - sums.sum * sums.sum / n) / (n - 1));
    n_piece += n;
  }
  n_not_finite = s.n_time - n_finite;
  if (mean.size() < kStatisticPieces / 2 ||
      static_cast<double>(n_not_finite - s.missing.size()) > kMaxNotFinite * static_cast<double>(s.n_time))
    return;
  n_piece /= static_cast<double>(mean.size());
  const double noise_square = median_of(variance) / chi_squared_median(n_piece - 1);
  if (!(noise_square > 0) || !std::isfinite(noise_square)) return;
  double centre = 0, scatter = 0;
  for (double m : mean) centre += m / static_cast<double>(mean.size());
  for (double m : mean) scatter += (m - centre) * (m - centre);
  s.drift[chan] = static_cast<float>(scatter / static_cast<double>(mean.size() - 1) * n_piece / noise_square);
  s.level[chan] = static_cast<float>(static_cast<double>(about) + median_of(mean));
  s.noise[chan] = static_cast<float>(std::sqrt(noise_square));
  s.good[chan] = std::isfinite(s.level[chan]) && s.noise[chan] > 0 && std::isfinite(1 / s.noise[chan]);
}

/// The level as two lines, from the middle of the block before and to that of the block after.
struct Slopes {
  float rising = 0, leaving = 0;  ///< per sample, in the first and the second half
};
Slopes slopes_of(const BlockStatistics* before, const BlockStatistics& now, const BlockStatistics* after,
                 std::size_t chan) {
  const auto between = [&](const BlockStatistics& a, const BlockStatistics& b) {
    if (!a.good[chan] || !b.good[chan]) return 0.0f;
    return (b.level[chan] - a.level[chan]) / (static_cast<float>(a.n_time + b.n_time) / 2);
  };
  return {before ? between(*before, now) : 0.0f, after ? between(now, *after) : 0.0f};
}

/// All good channels to int8; the others to zero. Returns the values clipped.
std::uint64_t normalise_block(const ExciseSettings& settings, const BlockSamples& samples,
                              const BlockStatistics* before, const BlockStatistics& now,
                              const BlockStatistics* after, const float* common, std::int8_t* out,
                              std::size_t stride) {
  const std::size_t n_time = now.n_time, half = n_time / 2;
  std::atomic<std::uint64_t> n_clipped = 0;
  for_channels(settings, samples, now.missing, [&](std::size_t first, View<float, 2> tile, unsigned) {
    std::uint64_t clipped = 0;
    for (std::size_t i = 0; i < tile.extent(0); ++i) {
      const std::size_t chan = first + i;
      std::int8_t* row = out + chan * stride;
      if (!now.good[chan]) {
        std::memset(row, 0, n_time);
        continue;
      }
      const Slopes slopes = slopes_of(before, now, after, chan);
      const float middle = static_cast<float>(n_time) / 2;
      const float scale = kStepsPerSigma / now.noise[chan];
      const NormaliseRun head{now.level[chan], slopes.rising, scale, 0.5f - middle, common};
      const NormaliseRun tail{now.level[chan], slopes.leaving, scale,
                              static_cast<float>(half) + 0.5f - middle, common ? common + half : nullptr};
      clipped += normalise(&tile(i, 0), half, head, row);
      clipped += normalise(&tile(i, half), n_time - half, tail, row + half);
    }
    n_clipped += clipped;
  });
  return n_clipped;
}

/// Sums of up to 16 groups of neighbouring good channels, [group][time].
Buffer<float, 2> group_sums(const ExciseSettings& settings, const BlockStatistics& now,
                            const std::int8_t* out, std::size_t stride) {
  std::vector<std::size_t> good;
  for (std::size_t chan = 0; chan < settings.n_chan; ++chan)
    if (now.good[chan]) good.push_back(chan);
  const std::size_t n_group = std::min(kTimeGroups, good.size());
  Buffer<float, 2> sums({n_group, now.n_time});
  parallel_for(settings.n_threads, n_group, [&](std::size_t group, unsigned) {
    for (std::size_t i = group * good.size() / n_group; i < (group + 1) * good.size() / n_group; ++i)
      accumulate(out + good[i] * stride, now.n_time, &sums(group, 0));
  });
  return sums;
}

/// The times at which none of the channels that it has seen has data. There are few after the first.
class TimesWithoutData {
 public:
  template <class Missing>
  void see(const float* values, std::size_t n_time, Missing missing) {
    if (begun_) {
      std::erase_if(times_, [&](std::size_t t) { return !missing(values[t]); });
      return;
    }
    begun_ = true;
    for (std::size_t t = 0; t < n_time; ++t)
      if (missing(values[t])) times_.push_back(t);
  }
  /// A channel that has data throughout.
  void see_whole() {
    begun_ = true;
    times_.clear();
  }
  /// Those of both.
  void join(const TimesWithoutData& other) {
    if (!other.begun_) return;
    if (!begun_) {
      *this = other;
      return;
    }
    std::vector<std::size_t> both;
    std::set_intersection(times_.begin(), times_.end(), other.times_.begin(), other.times_.end(),
                          std::back_inserter(both));
    times_ = std::move(both);
  }
  const std::vector<std::size_t>& times() const { return times_; }

 private:
  bool begun_ = false;
  std::vector<std::size_t> times_;  // rising
};

/// All channels but for the times s.missing; `look`: which are missing, and how many values are not finite.
void measure_channels(const ExciseSettings& settings, const BlockSamples& samples, BlockStatistics& s,
                      bool look) {
  std::atomic<std::uint64_t> n_not_finite = 0;
  std::vector<TimesWithoutData> without(settings.n_threads);
  for_channels(settings, samples, s.missing, [&](std::size_t first, View<float, 2> tile, unsigned thread) {
    for (std::size_t i = 0; i < tile.extent(0); ++i) {
      const float* values = &tile(i, 0);
      std::size_t n = 0;
      measure_channel(values, first + i, s, n);
      n_not_finite += n;
      if (!look) continue;
      if (settings.zeros_are_missing)
        without[thread].see(values, s.n_time, [](float x) { return !std::isfinite(x) || x == 0; });
      else if (n > 0)
        without[thread].see(values, s.n_time, [](float x) { return !std::isfinite(x); });
      else
        without[thread].see_whole();
    }
  });
  if (!look) return;
  s.n_not_finite = n_not_finite;
  for (std::size_t thread = 1; thread < without.size(); ++thread) without[0].join(without[thread]);
  s.missing = without[0].times();
}

}  // namespace

BlockStatistics measure_block(const ExciseSettings& settings, const BlockSamples& samples) {
  if (samples.n_time() < 2 * kStatisticPieces)
    throw std::invalid_argument("measure_block: a block needs at least 32 samples");
  BlockStatistics s;
  s.n_time = samples.n_time();
  s.level.assign(settings.n_chan, 0), s.noise.assign(settings.n_chan, 0), s.drift.assign(settings.n_chan, 0);
  s.good.assign(settings.n_chan, 0);
  measure_channels(settings, samples, s, true);
  // Once more without the times that turned out to be missing: rare.
  if (!s.missing.empty()) {
    std::fill(s.good.begin(), s.good.end(), std::uint8_t{0});
    measure_channels(settings, samples, s, false);
  }
  find_bad_channels(settings.rfi_sigma, s);
  return s;
}

void clean_block(const ExciseSettings& settings, const BlockSamples& samples, const BlockStatistics* before,
                 const BlockStatistics& now, const BlockStatistics* after, std::int8_t* out,
                 std::size_t stride, std::span<std::uint8_t> good_time, ExciseReport& report) {
  if (good_time.size() != now.n_time || stride < now.n_time)
    throw std::length_error("clean_block: the output is shorter than the block");
  std::uint64_t n_clipped = normalise_block(settings, samples, before, now, after, nullptr, out, stride);
  std::fill(good_time.begin(), good_time.end(), std::uint8_t{1});
  for (const std::size_t t : now.missing) good_time[t] = 0;
  const Buffer<float, 2> groups = group_sums(settings, now, out, stride);
  const auto n_good = static_cast<std::size_t>(std::count(now.good.begin(), now.good.end(), std::uint8_t{1}));
  find_bad_times(settings.rfi_sigma, groups, good_time);
  if (settings.zero_dm && n_good > 0) {
    std::vector<float> common(now.n_time, 0.0f);
    for (std::size_t group = 0; group < groups.extent(0); ++group)
      for (std::size_t t = 0; t < now.n_time; ++t) common[t] += groups(group, t) / static_cast<float>(n_good);
    n_clipped = normalise_block(settings, samples, before, now, after, common.data(), out, stride);
  }
  std::vector<std::size_t> bad;
  for (std::size_t t = 0; t < now.n_time; ++t)
    if (!good_time[t]) bad.push_back(t);
  for (std::size_t chan = 0; chan < settings.n_chan && !bad.empty(); ++chan)
    for (std::size_t t : bad) out[chan * stride + t] = 0;
  report.n_channel_blocks += settings.n_chan;
  report.n_bad_channel_blocks += settings.n_chan - n_good;
  report.n_time += now.n_time, report.n_bad_time += bad.size();
  report.n_value += now.n_time * settings.n_chan;
  report.n_clipped += n_clipped, report.n_not_finite += now.n_not_finite;
}

}  // namespace apsyn
