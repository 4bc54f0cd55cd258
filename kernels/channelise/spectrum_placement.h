// SPDX-License-Identifier: GPL-3.0-or-later
// The samples that a spectrum is made of, their delay, and whether all of them are there: shared by the F
// stages of all devices (channelise.h).
#pragma once

#include <cstdint>

#include "kernels/channelise/channelise.h"
#include "kernels/channelise/placement.h"
#include "kernels/channelise/sample_validity.h"

namespace apsyn {

class SpectrumPlacement {
 public:
  /// `delays` may be null; both must outlive the object.
  SpectrumPlacement(const ChannelisePlan& plan, DelaySource* delays);

  bool aligns() const { return delays_ != nullptr; }
  /// A bound on |k| of channelise.h.
  std::int64_t max_shift() const { return max_shift_; }
  /// First sample of a spectrum that no delay shifts.
  std::int64_t first_of(std::int64_t spectrum) const;
  /// Spectra that samples up to `end` make: those that no delay can push beyond it, or all at the stream's
  /// end.
  std::int64_t available(std::int64_t end, bool ended) const;
  /// Makes the delays of spectra usable, from one thread and in rising order.
  void prepare(std::int64_t first, std::size_t n_spectra);
  /// k and tau of an antenna.
  std::int64_t shift_of(std::size_t ant, std::int64_t spectrum, double& delay_s) const;
  /// block.valid and all_valid of the block's n_spectra and channels.
  void fill_validity(std::int64_t first, const SampleValidity& samples, SpectraBlock& block) const;
  /// placements[ant][spectrum] of spectra `first` ..; starts count from sample `origin`. An antenna has no
  /// weight where it is valid in no channel. Within 64 spectra tau is taken as linear where that changes no
  /// shift and, at their middle, where a parabola departs most, the phase by less than 1e-9 turns.
  void place(std::int64_t first, std::int64_t origin, const SpectraBlock& validity,
             View<Placement, 2> placements) const;

 private:
  void place_run(std::size_t ant, std::int64_t first, std::int64_t origin, std::span<Placement> run) const;
  Placement place_one(std::size_t ant, std::int64_t spectrum, std::int64_t origin) const;

  const ChannelisePlan& plan_;
  DelaySource* delays_;
  std::int64_t max_shift_ = 0;
  double highest_hz_ = 0;
};

}  // namespace apsyn
