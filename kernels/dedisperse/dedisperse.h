// SPDX-License-Identifier: GPL-3.0-or-later
// Incoherent dedispersion over many trials by partial sums over sub-bands (Taylor 1974, A&AS 15, 367, for the
// idea of sharing sums between trials; two stages as in Magro et al. 2011, MNRAS 417, 2642). With x[c][t] the
// samples of channel c and k_c the delay of the channel per unit of dispersion measure, the exact sum is
//   y_d[t] = sum_c x[c][t + round(k_c d)].                                                                (1)
// Channels are grouped into sub-bands s with a middle delay k_s. For each s a few partial sums
//   r_{s,g,q}[t] = sum_{c in s} x[c][t + round((k_c - k_s) g + q/Q)]                                      (2)
// are made, for dispersion measures g so dense that the ends of a sub-band are within 1/4 sample, and Q = 2
// phases of the delay: rounding k_s d alone, with Q = 1, would cost a pulse of one sample 7 %. Then
//   y_d[t] = sum_s r_{s,g,q}[t + i],   i + q/Q nearest to k_s d.                                          (3)
// trials.h bounds what that loses. Partial sums with the same offsets are made once.
//
// All is integer: samples are int8, partial sums int16, sums float with exact integers below 2^24; so the
// result does not depend on how time is cut, on threads or on the instruction set.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/dedisperse/trials.h"
#include "libcore/base/view.h"

namespace apsyn {

/// int16 holds the sum of this many int8 samples.
inline constexpr std::size_t kMaxSubbandChannels = 258;

enum class DedispersionMethod { partial, exact };

/// One partial sum.
struct PartialSum {
  std::size_t subband = 0;
  std::vector<std::uint32_t> offset;  ///< of each channel of the sub-band, samples; the smallest is 0
  std::uint32_t first_shift = 0, last_shift = 0;  ///< that trials of the batch read it with
};

/// Where a trial finds one sub-band's part.
struct PartialUse {
  std::uint32_t row = 0;    ///< of the batch's partial sums
  std::uint32_t shift = 0;  ///< samples
};

/// Neighbouring trials that share partial sums.
struct DedispersionBatch {
  std::size_t level = 0, first_trial = 0;  ///< first_trial counts over all levels
  std::vector<double> dm;
  std::vector<PartialSum> sums;
  Buffer<PartialUse, 2> uses;  ///< [trial][sub-band]
};

struct DedispersionPlan {
  DispersionBand band;
  std::vector<TrialLevel> levels;
  std::vector<std::size_t> first_chan;  ///< of each sub-band, and n_chan at the end
  std::vector<DedispersionBatch> batches;
  std::vector<std::size_t> max_delay;  ///< of each level, in its samples
  std::size_t n_trial = 0;
  std::size_t n_subband() const { return first_chan.size() - 1; }
  std::size_t max_delay_samples() const;  ///< of the input
  std::size_t scratch_bytes() const;      ///< of one thread
};

/// `chan_per_subband` 0: what costs least.
DedispersionPlan plan_dedispersion(const DispersionBand& band, const std::vector<TrialLevel>& levels,
                                   DedispersionMethod method = DedispersionMethod::partial,
                                   std::size_t chan_per_subband = 0);

/// Rows of samples of a level, [chan][time]; row `chan` starts at first + chan * stride.
struct SampleRows {
  const std::int8_t* first = nullptr;
  std::size_t stride = 0;
};

class DedispersionScratch {
 public:
  std::vector<std::int16_t> sums;
};

/// Writes out[trial][0 .. n_time-1] of one batch; `rows` are those of the batch's level and hold
/// n_time + max_delay samples from output 0 on. `out` has a row for each trial of the batch, at least n_time
/// long.
void dedisperse(const DedispersionPlan& plan, const DedispersionBatch& batch, const SampleRows& rows,
                std::size_t n_time, DedispersionScratch& scratch, View<float, 2> out);

}  // namespace apsyn
