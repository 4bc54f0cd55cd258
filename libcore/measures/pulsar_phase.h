// SPDX-License-Identifier: GPL-3.0-or-later
// The phase of a pulsar as an observatory sees it, by its par file. With t the time at the barycentre
// (barycentre.h) and nu the frequency there, nu_observed (1 - speed), a sample's phase is
//
//   phi(t) - F(t) kDispersion DM / nu^2
//
// where phi is that of PulsarTiming and F its rate: the change of F within the dispersion delay d is left out
// (F1 d^2 / 2: 2e-6 turns for the Crab pulsar at 50 MHz). Phase 0 is where TZRMJD tells that a pulse arrives,
// otherwise PEPOCH at the barycentre.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "libcore/measures/barycentre.h"

namespace apsyn {

class PulsarPhase {
 public:
  /// From `start` on, at a place in ITRF metres, with the Earth's orientation of that day. FailureError or
  /// DataError for days that no table covers.
  PulsarPhase(const PulsarTiming& pulsar, const Vec3& itrf_m, const UtcTime& start, Ephemeris ephemeris,
              const EarthOrientation& earth);

  /// For times in seconds after the start, ascending: the phase at infinite frequency, in turns after the
  /// last whole one before the start, and what delays by dispersion are to be multiplied with, being those at
  /// the observed frequencies in turns of period_s(). Within 1e-9 s of the exact one.
  void phases(std::span<const double> at_s, std::span<double> turns, std::span<double> stretch);

  double period_s() const { return period_s_; }  ///< apparent, at the start
  double dm_pc_cm3() const { return dm_; }       ///< at the start
  /// Whether phase 0 is that of TZRMJD.
  bool has_reference() const { return has_reference_; }

 private:
  struct Instant {
    long double turns = 0;
    double rate_hz = 0;  ///< F, at the barycentre
    double speed = 0;
  };
  Instant instant(const Barycentre& barycentre, const DayTime& tai) const;
  Instant instant(const DayTime& tdb) const;
  std::optional<long double> reference_turns() const;
  void enter_segment(double at_s);

  PulsarTiming pulsar_;
  Barycentre barycentre_;
  Ephemeris ephemeris_;
  EarthOrientation earth_;
  DayTime start_;  // TAI
  long double zero_turns_ = 0;
  double period_s_ = 0, dm_ = 0;
  bool has_reference_ = false;
  // The phase between nodes at 0, 1/3, 2/3 and 1 of a segment is a cubic.
  double segment_s_ = -1;
  double turns_[4] = {}, stretch_[2] = {};
};

}  // namespace apsyn
