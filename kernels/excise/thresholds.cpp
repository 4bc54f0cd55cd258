// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/excise/excise.h"
#include "libcore/base/median.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

/// Channels on either side that the bandpass is the median of.
constexpr std::size_t kBandpassReach = 16;

/// How far a value may lie below and above what is expected before it tells of interference.
struct Limits {
  double below = 0, above = 0;
};

/// Takes out channels whose value is off the running median of the good ones, or their median, by more than
/// `threshold` spreads and by more than `harmless`. The spread is the robust one of all, at least `least`.
void cut_outliers(const std::vector<double>& value, double threshold, double least, const Limits& harmless,
                  bool against_neighbours, unsigned n_threads, std::vector<std::uint8_t>& good) {
  constexpr std::size_t kSome = 64;  // channels that a thread takes at a time
  const std::size_t n = value.size();
  std::vector<double> residual(n), of_good;
  std::vector<double> all;
  for (std::size_t chan = 0; chan < n; ++chan)
    if (good[chan]) all.push_back(value[chan]);
  if (all.size() < 4) return;
  const double middle = median_of(all);
  parallel_for(n_threads, (n + kSome - 1) / kSome, [&](std::size_t item, unsigned) {
    std::vector<double> window;
    for (std::size_t chan = item * kSome; chan < std::min(n, (item + 1) * kSome); ++chan) {
      if (!good[chan]) continue;
      double expected = middle;
      if (against_neighbours) {
        window.clear();
        for (std::size_t i = chan > kBandpassReach ? chan - kBandpassReach : 0;
             i < std::min(n, chan + kBandpassReach + 1); ++i)
          if (good[i]) window.push_back(value[i]);
        expected = median_of(window);
      }
      residual[chan] = value[chan] - expected;
    }
  });
  for (std::size_t chan = 0; chan < n; ++chan)
    if (good[chan]) of_good.push_back(residual[chan]);
  const double limit = threshold * std::max(least, robust_spread(of_good, 0.0));
  for (std::size_t chan = 0; chan < n; ++chan)
    if (good[chan] && (residual[chan] > std::max(limit, harmless.above) ||
                       -residual[chan] > std::max(limit, harmless.below)))
      good[chan] = 0;
}

}  // namespace

void find_bad_channels(double rfi_sigma, BlockStatistics& s, unsigned n_threads) {
  if (rfi_sigma <= 0) return;
  const std::size_t n = s.level.size();
  const double n_time = static_cast<double>(s.n_time);
  std::vector<double> value(n);
  // Channels are brought to one level and one noise, so that a gain or an offset of their own costs nothing.
  // Noise that is added does: a channel whose noise is k times that of its neighbours has 1/k of the signal,
  // and a sum of many is better without it from k = 2 on. A channel far below its neighbours has hardly any
  // sky in it.
  const Limits harmless{std::log(4.0), std::log(2.0)};
  // Medians of 16 scatter 1.25 times as much as means.
  for (std::size_t chan = 0; chan < n; ++chan) value[chan] = s.good[chan] ? std::log(s.noise[chan]) : 0;
  cut_outliers(value, rfi_sigma, 1.25 / std::sqrt(2 * n_time), harmless, true, n_threads, s.good);
  for (std::size_t chan = 0; chan < n; ++chan) value[chan] = static_cast<double>(s.drift[chan]);
  cut_outliers(value, rfi_sigma, std::sqrt(2.0 / (kStatisticPieces - 1)), {}, false, n_threads, s.good);
}

void find_bad_times(double rfi_sigma, View<const float, 2> groups, std::span<std::uint8_t> good_time,
                    unsigned n_threads) {
  const std::size_t n_group = groups.extent(0), n_time = good_time.size();
  constexpr std::size_t kFewestGroups = 4, kTimesAtOnce = 1024;
  if (rfi_sigma <= 0 || n_group < kFewestGroups) return;
  // each group in units of its own spread
  std::vector<float> scale(n_group);
  parallel_for(n_threads, n_group, [&](std::size_t group, unsigned) {
    std::vector<float> values;
    values.reserve(n_time);
    for (std::size_t t = 0; t < n_time; ++t)
      if (good_time[t]) values.push_back(groups(group, t));
    const float spread = robust_spread(std::move(values), 0.0f);
    scale[group] = spread > 0 ? 1 / spread : 0;
  });
  std::vector<float> middle(n_time), of_good;
  parallel_for(n_threads, (n_time + kTimesAtOnce - 1) / kTimesAtOnce, [&](std::size_t item, unsigned) {
    std::vector<float> at(n_group);
    for (std::size_t t = item * kTimesAtOnce; t < std::min(n_time, (item + 1) * kTimesAtOnce); ++t) {
      for (std::size_t group = 0; group < n_group; ++group) at[group] = groups(group, t) * scale[group];
      middle[t] = median_of(at);
    }
  });
  for (std::size_t t = 0; t < n_time; ++t)
    if (good_time[t]) of_good.push_back(middle[t]);
  const float centre = median_of(of_good);
  const float limit = static_cast<float>(rfi_sigma) * robust_spread(of_good, centre);
  if (!(limit > 0)) return;
  for (std::size_t t = 0; t < n_time; ++t)
    if (std::abs(middle[t] - centre) > limit) good_time[t] = 0;
}

}  // namespace apsyn
