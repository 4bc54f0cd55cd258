// SPDX-License-Identifier: GPL-3.0-or-later
// A pulsar's signal, averaged over many periods.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "libcore/base/time.h"
#include "libcore/base/view.h"

namespace apsyn {

/// The Gaussian pulse that a profile matches best.
struct Pulse {
  double snr = 0;          ///< of the matched filter
  double phase_turns = 0;  ///< of the peak, 0 .. 1
  double width_turns = 0;  ///< full width at half maximum
  double height = 0;       ///< above the rest of the profile, in the data's unit
  /// Scatter of the profile away from the pulse over what the samples' own scatter makes of it: 1 for white
  /// noise.
  double excess_noise = 1;
};

/// Phase 0 is the start of the data, at infinite frequency; bin b is centred on (b + 1/2) / n_bin turns.
/// Samples count in units of their channel's standard deviation, about its mean; `unit` leads back to the
/// data's own.
struct FoldedPulses {
  std::string source;
  std::optional<UtcTime> start;  ///< a table may lack it
  double length_s = 0;
  double period_s = 0, period_dot = 0, dm_pc_cm3 = 0;
  double subint_s = 0;
  Buffer<double, 3> sum, count;  ///< [sub-integration][band][bin]: of samples, and how many
  std::vector<double> band_hz;   ///< centres, mean of the channels
  double unit = 1;
  double variance = 1;          ///< of samples about the profile
  double explained = 0;         ///< sum over samples of the profile's square
  std::vector<double> profile;  ///< [bin], mean samples
  Pulse pulse;

  std::size_t n_bin() const { return sum.extent(2); }
  /// Samples of a bin.
  double samples(std::size_t bin) const {
    double total = 0;
    for (std::size_t subint = 0; subint < sum.extent(0); ++subint)
      for (std::size_t band = 0; band < sum.extent(1); ++band) total += count(subint, band, bin);
    return total;
  }
};

}  // namespace apsyn
