// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <utility>

#include "kernels/excise/block_steps.h"
#include "kernels/excise/excise.h"
#include "kernels/excise/excise_cuda.h"
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

ChannelSums sums_of_channel(const float* samples, std::size_t n_time) {
  ChannelSums sums;
  for (std::size_t t = 0; t < n_time; ++t)
    if (std::isfinite(samples[t])) {
      sums.about = samples[t];
      break;
    }
  for (std::size_t piece = 0; piece < kStatisticPieces; ++piece) {
    const std::size_t from = piece_begin(piece, n_time), to = piece_begin(piece + 1, n_time);
    sums.piece[piece] = sum_piece(samples + from, to - from, sums.about);
  }
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
  /// The pieces of both.
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

/// By all threads, samples turned a group of channels at a time.
class CpuSteps final : public BlockSteps {
 public:
  /// `out` is null where nothing is cleaned.
  CpuSteps(const ExciseSettings& settings, const BlockSamples& samples, std::int8_t* out, std::size_t stride)
      : settings_(settings), samples_(samples), out_(out), stride_(stride) {}

  std::size_t n_time() const override { return samples_.n_time(); }

  void measure_channels(BlockStatistics& s, bool look) override {
    std::atomic<std::uint64_t> n_not_finite = 0;
    std::vector<TimesWithoutData> without(settings_.n_threads);
    for_channels(
        settings_, samples_, s.missing, [&](std::size_t first, View<float, 2> tile, unsigned thread) {
          for (std::size_t i = 0; i < tile.extent(0); ++i) {
            const float* values = &tile(i, 0);
            const std::size_t n = measure_channel(sums_of_channel(values, s.n_time), first + i, s);
            n_not_finite += n;
            if (!look) continue;
            if (settings_.zeros_are_missing)
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

  std::uint64_t normalise(const BlockStatistics* before, const BlockStatistics& now,
                          const BlockStatistics* after, const float* common) override {
    const std::size_t n_time = now.n_time, half = n_time / 2;
    std::atomic<std::uint64_t> n_clipped = 0;
    for_channels(settings_, samples_, now.missing, [&](std::size_t first, View<float, 2> tile, unsigned) {
      std::uint64_t clipped = 0;
      for (std::size_t i = 0; i < tile.extent(0); ++i) {
        const std::size_t chan = first + i;
        std::int8_t* row = out_ + chan * stride_;
        if (!now.good[chan]) {
          std::memset(row, 0, n_time);
          continue;
        }
        ChannelLines lines = lines_of(before, now, after, chan);
        lines.head.common = common, lines.tail.common = common ? common + half : nullptr;
        clipped += apsyn::normalise(&tile(i, 0), half, lines.head, row);
        clipped += apsyn::normalise(&tile(i, half), n_time - half, lines.tail, row + half);
      }
      n_clipped += clipped;
    });
    return n_clipped;
  }

  Buffer<float, 2> group_sums(const BlockStatistics& now) override {
    const ChannelGroups groups = groups_of(now);
    Buffer<float, 2> sums({groups.n_group, now.n_time});
    parallel_for(settings_.n_threads, groups.n_group, [&](std::size_t group, unsigned) {
      for (std::size_t i = groups.begin(group); i < groups.begin(group + 1); ++i)
        accumulate(out_ + groups.channel[i] * stride_, now.n_time, &sums(group, 0));
    });
    return sums;
  }

  void clear(std::span<const std::size_t> times) override {
    for (std::size_t chan = 0; chan < settings_.n_chan && !times.empty(); ++chan)
      for (std::size_t t : times) out_[chan * stride_ + t] = 0;
  }

 private:
  const ExciseSettings& settings_;
  const BlockSamples& samples_;
  std::int8_t* out_;
  std::size_t stride_;
};

}  // namespace

std::size_t measure_channel(const ChannelSums& sums, std::size_t chan, BlockStatistics& s) {
  std::vector<double> mean, variance;
  std::size_t n_finite = 0;
  double n_piece = 0;
  for (std::size_t piece = 0; piece < kStatisticPieces; ++piece) {
    const std::size_t n_all = piece_begin(piece + 1, s.n_time) - piece_begin(piece, s.n_time);
    const PieceSums& own = sums.piece[piece];
    n_finite += own.n;
    if (2 * own.n < n_all || own.n < 2) continue;
    const double n = static_cast<double>(own.n);
    mean.push_back(own.sum / n);
    variance.push_back(std::max(0.0, own.square - own.sum * own.sum / n) / (n - 1));
    n_piece += n;
  }
  const std::size_t n_not_finite = s.n_time - n_finite;
  if (mean.size() < kStatisticPieces / 2 ||
      static_cast<double>(n_not_finite - s.missing.size()) > kMaxNotFinite * static_cast<double>(s.n_time))
    return n_not_finite;
  n_piece /= static_cast<double>(mean.size());
  const double noise_square = median_of(variance) / chi_squared_median(n_piece - 1);
  if (!(noise_square > 0) || !std::isfinite(noise_square)) return n_not_finite;
  double centre = 0, scatter = 0;
  for (double m : mean) centre += m / static_cast<double>(mean.size());
  for (double m : mean) scatter += (m - centre) * (m - centre);
  s.drift[chan] = static_cast<float>(scatter / static_cast<double>(mean.size() - 1) * n_piece / noise_square);
  s.level[chan] = static_cast<float>(static_cast<double>(sums.about) + median_of(mean));
  s.noise[chan] = static_cast<float>(std::sqrt(noise_square));
  s.good[chan] = std::isfinite(s.level[chan]) && s.noise[chan] > 0 && std::isfinite(1 / s.noise[chan]);
  return n_not_finite;
}

ChannelLines lines_of(const BlockStatistics* before, const BlockStatistics& now, const BlockStatistics* after,
                      std::size_t chan) {
  const auto between = [&](const BlockStatistics& a, const BlockStatistics& b) {
    if (!a.good[chan] || !b.good[chan]) return 0.0f;
    return (b.level[chan] - a.level[chan]) / (static_cast<float>(a.n_time + b.n_time) / 2);
  };
  const float middle = static_cast<float>(now.n_time) / 2, scale = kStepsPerSigma / now.noise[chan];
  const float half = static_cast<float>(now.n_time / 2);
  return {{now.level[chan], before ? between(*before, now) : 0.0f, scale, 0.5f - middle, nullptr},
          {now.level[chan], after ? between(now, *after) : 0.0f, scale, half + 0.5f - middle, nullptr}};
}

ChannelGroups groups_of(const BlockStatistics& now) {
  ChannelGroups groups;
  for (std::size_t chan = 0; chan < now.good.size(); ++chan)
    if (now.good[chan]) groups.channel.push_back(static_cast<std::uint32_t>(chan));
  groups.n_group = std::min(kTimeGroups, groups.channel.size());
  return groups;
}

BlockStatistics measure_block(const ExciseSettings& settings, BlockSteps& steps) {
  if (steps.n_time() < 2 * kStatisticPieces)
    throw std::invalid_argument("measure_block: a block needs at least 32 samples");
  BlockStatistics s;
  s.n_time = steps.n_time();
  s.level.assign(settings.n_chan, 0), s.noise.assign(settings.n_chan, 0), s.drift.assign(settings.n_chan, 0);
  s.good.assign(settings.n_chan, 0);
  steps.measure_channels(s, true);
  // Once more without the times that turned out to be missing: rare.
  if (!s.missing.empty()) {
    std::fill(s.good.begin(), s.good.end(), std::uint8_t{0});
    steps.measure_channels(s, false);
  }
  find_bad_channels(settings.rfi_sigma, s, settings.n_threads);
  return s;
}

void clean_block(const ExciseSettings& settings, BlockSteps& steps, const BlockStatistics* before,
                 const BlockStatistics& now, const BlockStatistics* after, std::span<std::uint8_t> good_time,
                 ExciseReport& report) {
  if (good_time.size() != now.n_time)
    throw std::length_error("clean_block: the output is shorter than the block");
  std::uint64_t n_clipped = steps.normalise(before, now, after, nullptr);
  std::fill(good_time.begin(), good_time.end(), std::uint8_t{1});
  for (const std::size_t t : now.missing) good_time[t] = 0;
  const auto n_good = static_cast<std::size_t>(std::count(now.good.begin(), now.good.end(), std::uint8_t{1}));
  if (settings.rfi_sigma > 0 || settings.zero_dm) {
    const Buffer<float, 2> groups = steps.group_sums(now);
    find_bad_times(settings.rfi_sigma, groups, good_time, settings.n_threads);
    if (settings.zero_dm && n_good > 0) {
      std::vector<float> common(now.n_time, 0.0f);
      for (std::size_t group = 0; group < groups.extent(0); ++group)
        for (std::size_t t = 0; t < now.n_time; ++t)
          common[t] += groups(group, t) / static_cast<float>(n_good);
      n_clipped = steps.normalise(before, now, after, common.data());
    }
  }
  std::vector<std::size_t> bad;
  for (std::size_t t = 0; t < now.n_time; ++t)
    if (!good_time[t]) bad.push_back(t);
  if (!bad.empty()) steps.clear(bad);
  report.n_channel_blocks += settings.n_chan;
  report.n_bad_channel_blocks += settings.n_chan - n_good;
  report.n_time += now.n_time, report.n_bad_time += bad.size();
  report.n_value += now.n_time * settings.n_chan;
  report.n_clipped += n_clipped, report.n_not_finite += now.n_not_finite;
}

BlockStatistics measure_block(const ExciseSettings& settings, const BlockSamples& samples) {
  CpuSteps steps(settings, samples, nullptr, 0);
  return measure_block(settings, steps);
}

void clean_block(const ExciseSettings& settings, const BlockSamples& samples, const BlockStatistics* before,
                 const BlockStatistics& now, const BlockStatistics* after, std::int8_t* out,
                 std::size_t stride, std::span<std::uint8_t> good_time, ExciseReport& report) {
  if (stride < now.n_time) throw std::length_error("clean_block: the output is shorter than the block");
  CpuSteps steps(settings, samples, out, stride);
  clean_block(settings, steps, before, now, after, good_time, report);
}

std::uint64_t cuda_exciser_bytes(const RawSampleFormat& format, std::size_t n_time) {
  constexpr std::uint64_t kTimeGroups = 16, kSumBytes = 24 * kStatisticPieces, kBlocks = 6;
  return n_time * (kBlocks * format.bytes_per_sample() + format.n_chan + 4 * kTimeGroups + 16) +
         format.n_chan * (kSumBytes + 64);
}

}  // namespace apsyn
