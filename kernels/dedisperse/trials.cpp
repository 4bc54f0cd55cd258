// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/dedisperse/trials.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "libcore/powers/dispersion.h"

namespace apsyn {
namespace {

constexpr std::size_t kMaxTrials = 1000000;

/// Enough channels for means over the band.
template <class Visit>
void some_channels(const DispersionBand& band, Visit visit) {
  const std::size_t n = std::min<std::size_t>(band.n_chan, 64);
  for (std::size_t i = 0; i < n; ++i) visit((2 * i + 1) * band.n_chan / (2 * n));
}

/// The variance of the channels' delays for one pc cm^-3, in squared samples.
double delay_variance(const DispersionBand& band) {
  double sum = 0, square = 0;
  for (std::size_t chan = 0; chan < band.n_chan; ++chan) {
    const double delay = band.delay_per_dm(chan);
    sum += delay, square += delay * delay;
  }
  const double n = static_cast<double>(band.n_chan);
  return std::max(0.0, square / n - sum * sum / (n * n));
}

/// The largest x in 0 .. `most` that leaves at least `left` of the signal, for an added variance scale * x^2.
double largest(const DispersionBand& band, double dm, double scale, double left, double most) {
  if (signal_left(band, dm, scale * most * most) >= left) return most;
  double low = 0, high = most;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (signal_left(band, dm, scale * middle * middle) >= left ? low : high) = middle;
  }
  return low;
}

}  // namespace

double DispersionBand::delay_per_dm(std::size_t chan) const {
  return (dispersion_delay_s(1, channel_hz(chan)) - dispersion_delay_s(1, reference_hz())) / sample_s;
}

double DispersionBand::smear_per_dm(std::size_t chan) const {
  const double centre = channel_hz(chan), half = std::abs(step_hz) / 2;
  return (dispersion_delay_s(1, std::max(centre - half, centre / 2)) - dispersion_delay_s(1, centre + half)) /
         sample_s;
}

double signal_left(const DispersionBand& band, double dm, double added_variance) {
  double with = 0, without = 0;
  some_channels(band, [&](std::size_t chan) {
    const double smear = dm * band.smear_per_dm(chan), own = (3 + smear * smear) / 12;
    without += 1 / std::sqrt(own);
    with += 1 / std::sqrt(own + added_variance);
  });
  return std::sqrt(with / without);
}

PartialSteps partial_steps(const DispersionBand& band, double dm, std::size_t factor) {
  const double smear = dm * std::min(band.smear_per_dm(0), band.smear_per_dm(band.n_chan - 1));
  const double length = std::sqrt((3 + smear * smear) / 3) / static_cast<double>(factor);
  return {std::max(1.0, length), length < 2 ? std::size_t{2} : std::size_t{1}};
}

double partial_variance(const DispersionBand& band, double dm, std::size_t factor) {
  const PartialSteps steps = partial_steps(band, dm, factor);
  const double f = static_cast<double>(factor), phases = static_cast<double>(steps.phases);
  const double averaging = 2 * (f * f - 1);  // of samples, and of delays rounded to them
  const double phase = f * f / (phases * phases);
  const double mismatch = f * f * steps.spread * steps.spread / 4;  // at worst +-1/4 of the spread
  return (averaging + phase + mismatch) / 12;
}

std::vector<TrialLevel> plan_trials(const DispersionBand& band, const TrialSettings& settings) {
  if (!(settings.dm_low >= 0 && settings.dm_high >= settings.dm_low && settings.dm_step >= 0))
    throw std::invalid_argument("plan_trials: the range of dispersion measures is empty or negative");
  const double variance = delay_variance(band);
  std::vector<TrialLevel> levels(1);
  std::size_t n = 0;
  for (double dm = settings.dm_low;;) {
    while (levels.back().factor * 2 <= settings.max_factor &&
           signal_left(band, dm, partial_variance(band, dm, levels.back().factor * 2)) >=
               1 - settings.partial_loss) {
      if (levels.back().dm.empty())
        levels.back().factor *= 2;
      else
        levels.push_back({levels.back().factor * 2, {}});
    }
    levels.back().dm.push_back(dm);
    if (++n > kMaxTrials) throw std::length_error("plan_trials: more than 1000000 trials");
    const double to_end = settings.dm_high - dm;
    if (!(to_end > 0)) return levels;
    double step = settings.dm_step > 0
                      ? settings.dm_step
                      : 2 * largest(band, dm, variance, 1 - settings.trial_loss, std::max(1.0, to_end));
    // the last trial stands on the end of the range, unless the one before covers it
    if (settings.dm_step > 0 && step > to_end * (1 + 1e-9)) return levels;
    if (settings.dm_step == 0 && step / 2 >= to_end) return levels;
    dm = std::min(settings.dm_high,
                  settings.dm_step > 0 ? settings.dm_low + static_cast<double>(n) * step : dm + step);
  }
}

}  // namespace apsyn
