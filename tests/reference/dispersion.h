// SPDX-License-Identifier: GPL-3.0-or-later
// Dispersed pulses and their dedispersion by brute force, in float64.
#pragma once

#include <cstddef>
#include <vector>

#include "libcore/base/view.h"

namespace apsyn::reference {

struct Band {
  double first_mhz = 0, step_mhz = 0;  ///< centres of channels
  std::size_t n_chan = 0;
  double sample_s = 0;
  double mhz(double chan) const { return first_mhz + chan * step_mhz; }
  double highest_mhz() const { return step_mhz < 0 ? first_mhz : mhz(static_cast<double>(n_chan - 1)); }
  /// How much later than in the centre of the highest channel, in samples.
  double delay_samples(double dm, double mhz) const;
};

struct Pulse {
  double time_s = 0;  ///< of its middle, in the centre of the highest channel
  double dm = 0, width_s = 0, height = 0;
};

/// Adds a top-hat pulse to samples[chan][time]: mean over each sample and over 16 frequencies across each
/// channel.
void add_pulse(const Band& band, const Pulse& pulse, View<double, 2> samples);

/// sum_c samples[c][t + round(delay)] for all t; what is beyond the end counts as 0.
std::vector<double> dedisperse(const Band& band, double dm, View<const double, 2> samples);

struct BoxcarPeak {
  double sn = 0;  ///< sum over the window / sqrt(width)
  std::size_t begin = 0, width = 1;
};
/// The best of all windows of all widths up to `longest`.
BoxcarPeak best_boxcar(const std::vector<double>& series, std::size_t longest);

}  // namespace apsyn::reference
