// SPDX-License-Identifier: GPL-3.0-or-later
// The dispersion measures to try, and the time resolution of each.
//
// A pulse as short as one sample has, in one channel, the variance of its profile
//   v = (1 + 1 + 1) t^2/12 + s^2/12,                                                                    (1)
// a sample's own length, the integration over a sample and the rounding of delays to samples, all of length
// t, and the dispersion s within the channel. What an approximation adds, va, costs the fraction 1 - F of the
// signal-to-noise ratio of its matched filter, which goes with the square root of the profile's height:
//   F = sqrt( mean (v + va)^(-1/2) / mean v^(-1/2) ),   means over channels.                            (2)
// Two approximations get a share of loss each: the distance to the nearest trial, and everything else
// (averaged samples and partial sums over sub-bands, see dedisperse.h). With the default shares of 5 %,
// pulses anywhere between trials and samples keep on average 96 % of what brute force at their own dispersion
// measure finds, at worst 85 % when they are one sample long and 90 % from two samples on
// (tests/kernels/dedisperse/dedisperse.cpp).
#pragma once

#include <cstddef>
#include <vector>

namespace apsyn {

struct DispersionBand {
  double first_hz = 0, step_hz = 0;  ///< centre of channel 0, and to the next; either sign
  std::size_t n_chan = 1;
  double sample_s = 0;
  double channel_hz(std::size_t chan) const { return first_hz + static_cast<double>(chan) * step_hz; }
  /// The centre of the highest channel: the frequency that times of arrival belong to.
  double reference_hz() const { return step_hz < 0 ? first_hz : channel_hz(n_chan - 1); }
  /// Samples per pc cm^-3 by which a channel is later than the reference.
  double delay_per_dm(std::size_t chan) const;
  /// The same from end to end of a channel.
  double smear_per_dm(std::size_t chan) const;
};

struct TrialSettings {
  double dm_low = 0, dm_high = 1000;
  double dm_step = 0;          ///< 0: as large as trial_loss allows
  double trial_loss = 0.05;    ///< 1 - F half way between two trials
  double partial_loss = 0.05;  ///< 1 - F of averaging samples and of partial sums
  std::size_t max_factor = 64;
};

/// Trials at one time resolution: samples are means of `factor`, a power of two.
struct TrialLevel {
  std::size_t factor = 1;
  std::vector<double> dm;  ///< ascending
};

/// Ascending over all levels. std::invalid_argument when the range is empty or a step is not positive,
/// std::length_error beyond a million trials.
std::vector<TrialLevel> plan_trials(const DispersionBand& band, const TrialSettings& settings);

/// F of (2) for an added variance in squared samples.
double signal_left(const DispersionBand& band, double dm, double added_variance);
/// How a level's partial sums approximate delays at a dispersion measure.
struct PartialSteps {
  double spread = 1;       ///< samples from end to end of a sub-band between their dispersion measures
  std::size_t phases = 2;  ///< of the sub-band's delay in a sample
};
/// The longer the shortest pulse, by dispersion within the highest channel, the coarser: the share of its
/// variance (1) that they add stays what it is for one sample, spread 1 and two phases.
PartialSteps partial_steps(const DispersionBand& band, double dm, std::size_t factor);
/// What averaging `factor` samples and the partial sums of dedisperse.h add, in squared samples.
double partial_variance(const DispersionBand& band, double dm, std::size_t factor);

}  // namespace apsyn
