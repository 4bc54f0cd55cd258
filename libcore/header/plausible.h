// SPDX-License-Identifier: GPL-3.0-or-later
// Ranges that no instrument leaves. Numbers beyond them are damage or a mistake in units, and would end in
// loops without an end or in memory that nobody has.
#pragma once

#include <cmath>
#include <string_view>

#include "libcore/array/array_layout.h"
#include "libcore/base/error.h"

namespace apsyn {

inline constexpr double kMaxFrequency_hz = 1e13, kMaxSample_s = 100, kMaxIntegration_s = 1e7,
                        kMinTime_s = 1e-15,
                        kMaxDistance_m =
                            1e10;  ///< of antennas, orbiting ones included, from the Earth's centre

/// DataError unless `value` is finite and lies in [least, most]; `key` and `unit` name it.
inline void check_range(std::string_view source, std::string_view key, double value, double least,
                        double most, std::string_view unit) {
  if (!(value >= least && value <= most))
    throw DataError("{}: {} {:g} {}: it must lie between {:g} and {:g}", source, key, value, unit, least,
                    most);
}

/// The centre and the signed width of a band that lies between zero and kMaxFrequency_hz, but for rounding.
inline void check_band(std::string_view source, double centre_hz, double width_hz) {
  check_range(source, "FREQ", centre_hz, 0, kMaxFrequency_hz, "Hz");
  check_range(source, "BW", width_hz, -kMaxFrequency_hz, kMaxFrequency_hz, "Hz");
}

/// DataError for a position that is farther away than antennas are.
inline void check_position(std::string_view source, std::string_view what, const Vec3& position_m) {
  for (const double component_m : position_m)
    check_range(source, what, component_m, -kMaxDistance_m, kMaxDistance_m, "m");
}

}  // namespace apsyn
