// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/measures/pulsar_phase.h"

#include <cmath>

#include "libcore/array/telescopes.h"
#include "libcore/base/constants.h"
#include "libcore/base/log.h"

namespace apsyn {
namespace {

/// The Earth turns by 0.004 rad: the cubic is within 1e-12 s.
constexpr double kPhaseSegment_s = 60;

double dm_at(const PulsarTiming& pulsar, const DayTime& time) {
  const auto years = static_cast<double>(seconds_since(pulsar.dm_epoch, time)) / (365.25 * kSecondsPerDay);
  double dm = 0, power = 1;
  for (std::size_t k = 0; k < pulsar.dm_pc_cm3.size(); power *= years / static_cast<double>(++k))
    dm += pulsar.dm_pc_cm3[k] * power;
  return dm;
}

bool is_barycentre(const std::string& site) {
  return site == "@" || site == "bat" || site == "BAT" || site == "ssb" || site == "SSB";
}
bool is_geocentre(const std::string& site) {
  return site == "0" || site == "o" || site == "coe" || site == "COE" || site == "geocenter";
}

}  // namespace

PulsarPhase::PulsarPhase(const PulsarTiming& pulsar, const Vec3& itrf_m, const UtcTime& start,
                         Ephemeris ephemeris, const EarthOrientation& earth)
    : pulsar_(pulsar),
      barycentre_(itrf_m, pulsar, ephemeris),
      ephemeris_(ephemeris),
      earth_(earth),
      start_(tai_from_utc(start)) {
  dm_ = dm_at(pulsar_, start_);
  if (const auto turns = reference_turns()) {
    zero_turns_ = *turns;
    has_reference_ = true;
  }
  const Instant first = instant(barycentre_, start_);
  zero_turns_ += std::floor(first.turns - zero_turns_);
  // Of the delays, whose second derivative is below 1e-10 per second.
  const auto total_s = [&](double at_s) {
    const BarycentricDelay d = barycentre_.delay({start_.mjd, start_.s + at_s}, earth_);
    return d.tdb_minus_tai_s + d.roemer_s - d.shapiro_s;
  };
  period_s_ = 1 / (first.rate_hz * (1 + (total_s(0.5) - total_s(-0.5))));
}

PulsarPhase::Instant PulsarPhase::instant(const DayTime& tdb) const {
  const long double t = seconds_since(pulsar_.epoch, tdb);
  Instant at;
  long double turns = 0, rate = 0;
  for (std::size_t k = pulsar_.frequency.size(); k-- > 0;) {
    turns = (pulsar_.frequency[k] + turns) * t / static_cast<long double>(k + 1);
    rate = pulsar_.frequency[k] +
           (k + 1 < pulsar_.frequency.size() ? rate * t / static_cast<long double>(k + 1) : 0);
  }
  at.turns = turns;
  at.rate_hz = static_cast<double>(rate);
  return at;
}

PulsarPhase::Instant PulsarPhase::instant(const Barycentre& barycentre, const DayTime& tai) const {
  const BarycentricDelay delay = barycentre.delay(tai, earth_);
  Instant at = instant(barycentre.arrival(tai, delay));
  at.speed = delay.speed;
  return at;
}

/// The phase of the pulse that TZRMJD tells of; absent when there is none.
std::optional<long double> PulsarPhase::reference_turns() const {
  if (!pulsar_.reference) return std::nullopt;
  const DayTime& time = *pulsar_.reference;
  Instant at;
  if (is_barycentre(pulsar_.reference_site)) {
    at = instant(time);
  } else {
    const std::optional<Vec3> itrf_m =
        is_geocentre(pulsar_.reference_site) ? Vec3{} : find_telescope(pulsar_.reference_site);
    if (!itrf_m) {
      log_warning("TZRSITE {}: no telescope that is known here: phase 0 is not that of TZRMJD",
                  pulsar_.reference_site);
      return std::nullopt;
    }
    const DayTime tai = {time.mjd, time.s + tai_from_utc({time.mjd, 0}).s};
    // Ephemerides end.
    const bool covered = best_ephemeris(static_cast<double>(time.mjd)) == Ephemeris::de405;
    const Barycentre there(*itrf_m, pulsar_, covered ? ephemeris_ : Ephemeris::epv00);
    const BarycentricDelay delay = there.delay(tai, earth_orientation(static_cast<double>(time.mjd)));
    at = instant(there.arrival(tai, delay));
    at.speed = delay.speed;
  }
  if (pulsar_.reference_hz == 0) return at.turns;
  const double hz = pulsar_.reference_hz * (1 - at.speed);
  return at.turns -
         static_cast<long double>(at.rate_hz * kDispersion_s_hz2 * dm_at(pulsar_, time) / (hz * hz));
}

void PulsarPhase::enter_segment(double at_s) {
  segment_s_ = std::floor(at_s / kPhaseSegment_s) * kPhaseSegment_s;
  for (int node = 0; node < 4; ++node) {
    const Instant at = instant(barycentre_, {start_.mjd, start_.s + segment_s_ + node * kPhaseSegment_s / 3});
    turns_[node] = static_cast<double>(at.turns - zero_turns_);
    if (node % 3 == 0) stretch_[node / 3] = at.rate_hz * period_s_ / ((1 - at.speed) * (1 - at.speed));
  }
}

void PulsarPhase::phases(std::span<const double> at_s, std::span<double> turns, std::span<double> stretch) {
  for (std::size_t i = 0; i < at_s.size(); ++i) {
    if (segment_s_ < 0 || at_s[i] < segment_s_ || at_s[i] >= segment_s_ + kPhaseSegment_s)
      enter_segment(at_s[i]);
    const double part = (at_s[i] - segment_s_) / kPhaseSegment_s, x = 3 * part;
    // Lagrange's cubic about the first node, whose turns are many.
    const double step[3] = {turns_[1] - turns_[0], turns_[2] - turns_[0], turns_[3] - turns_[0]};
    turns[i] = turns_[0] + (step[0] * x * (x - 2) * (x - 3) / 2 - step[1] * x * (x - 1) * (x - 3) / 2 +
                            step[2] * x * (x - 1) * (x - 2) / 6);
    stretch[i] = stretch_[0] + (stretch_[1] - stretch_[0]) * part;
  }
}

}  // namespace apsyn
