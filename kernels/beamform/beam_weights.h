// SPDX-License-Identifier: GPL-3.0-or-later
// Steered weights of all beams and channels, kept until the beams have moved, and the sums that beams are
// divided by. A group of beams of a channel belongs to one thread at a time.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/beamform/beamform.h"

namespace apsyn {

struct BeamRange {
  std::size_t first = 0, n = 0;
  std::size_t group = 0;
};

/// Stretch of update_spectra that a spectrum is in, and the middle of one, seconds after the stream's sample
/// 0.
inline std::int64_t steering_interval_of(const BeamformPlan& plan, std::int64_t spectrum) {
  return (plan.first_spectrum + spectrum) / plan.update_spectra;
}
double steering_middle_s(const BeamformPlan& plan, std::int64_t interval);

/// Delays of moving beams as straight lines, for a device that makes weights of them.
///
/// Lines through the delays at the middles of the steering intervals `first` and first + span, a multiple of
/// 4: delay_s and slope_s for an interval, both [beam][ant]. Returns the most that delays of parabolas and
/// cubics are off in between, s, by those at a quarter and at three quarters: at one of them a parabola's and
/// a cubic's parts add up, of at least 3/4 of their largest. The middle is exact where delays turn over, as
/// those of an east-west array do for all antennas at once.
double fit_delay_lines(const BeamformPlan& plan, BeamDelaySource& delays, std::int64_t first,
                       std::int64_t span, double* delay_s, double* slope_s);

class BeamWeights {
 public:
  BeamWeights(const BeamformPlan& plan, BeamDelaySource& delays, std::size_t n_beam_group);

  /// Delays for the spectra first .. end - 1.
  void prepare(std::int64_t first, std::int64_t end);
  /// Weights are made anew when they are next asked for: the plan's calibration or members have changed.
  void forget() { std::fill(steered_.begin(), steered_.end(), -1); }
  /// Weights of these beams at the interval of `spectrum`, made anew only when it has changed.
  void steer(const BeamRange& beams, std::size_t channel, std::int64_t spectrum);
  /// [input][re, im]; the next beam's are 2 n_input floats further.
  const float* of(std::size_t channel, std::size_t beam) const { return &weights_(channel, beam, 0); }
  /// One over the sums of weights (XX, YY and XY for incoherent beams; X, Y for coherent ones) of the
  /// antennas with valid[ant * stride] != 0. All 0 for detected products where either polarisation has none.
  void norm(std::size_t beam, std::size_t channel, const std::uint8_t* valid, std::size_t stride,
            float norm[3]) const;
  std::int64_t interval_of(std::int64_t spectrum) const { return steering_interval_of(plan_, spectrum); }

 private:
  double amplitude(std::size_t ant, std::size_t pol, std::size_t channel) const;

  const BeamformPlan& plan_;
  BeamDelaySource& delays_;
  std::size_t n_beam_group_, padded_ant_;
  Buffer<float, 3> weights_;           // [channel][beam][input][re, im]
  std::vector<std::int64_t> steered_;  // [channel][beam group]: interval of weights_, -1 = none
  std::int64_t first_interval_ = 0;
  Buffer<double, 3> delay_s_;  // [interval][beam][ant, padded]
};

}  // namespace apsyn
