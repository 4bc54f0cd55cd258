// SPDX-License-Identifier: GPL-3.0-or-later
// Time as an integer: a UTC day and picoseconds of that day, so that adding samples never drifts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace apsyn {

struct UtcTime {
  std::int64_t mjd = 0;          ///< modified Julian day, UTC
  std::int64_t picoseconds = 0;  ///< within the day, [0, 86400e12)

  double mjd_seconds() const {
    return static_cast<double>(mjd) * 86400.0 + static_cast<double>(picoseconds) * 1e-12;
  }
  double mjd_days() const { return static_cast<double>(mjd) + static_cast<double>(picoseconds) / 86400e12; }
  bool operator==(const UtcTime&) const = default;
};

/// `time` later by `picoseconds` (may be negative); exact.
UtcTime add_picoseconds(const UtcTime& time, __int128 picoseconds);
/// Exactly `index` samples of `sample_ps` picoseconds after `start`; sample_ps may have a fraction, in which
/// case the product is rounded to the nearest picosecond once.
UtcTime sample_time(const UtcTime& start, std::int64_t index, double sample_s);
/// later - earlier in seconds.
double seconds_between(const UtcTime& earlier, const UtcTime& later);
UtcTime from_mjd_seconds(double mjd_seconds);

/// "yyyy-mm-dd-hh:mm:ss[.f]" (PSRDADA) or "yyyy-mm-ddThh:mm:ss[.f]"; throws DataError.
UtcTime parse_utc(std::string_view text);
/// "yyyy-mm-dd-hh:mm:ss" without the fraction (PSRDADA).
std::string format_dada_utc(const UtcTime& time);
/// "yyyy-mm-ddThh:mm:ss.sss" (FITS DATE-OBS).
std::string format_fits_utc(const UtcTime& time, int decimals = 3);

}  // namespace apsyn
