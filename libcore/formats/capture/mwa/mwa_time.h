// SPDX-License-Identifier: GPL-3.0-or-later
// What recordings of the MWA have in common: GPS seconds and coarse channels.
#pragma once

#include <cstdint>

#include "libcore/base/time.h"
#include "libcore/formats/capture/vlbi/vdif_frame.h"

namespace apsyn {

inline constexpr std::int64_t kGpsOf2000_s = 630720013;  ///< GPS second of 2000-01-01T00:00:00 UTC
inline constexpr std::int64_t kMaxGps_s = std::int64_t{1} << 31;
inline constexpr double kMwaCoarse_hz = 1.28e6;  ///< channel n is centred on n times that
inline constexpr std::int64_t kMwaChannels = 256;

/// `gps_s` from 2000 to kMaxGps_s.
inline UtcTime mwa_time(std::int64_t gps_s) {
  return vdif_time({51544, 0}, static_cast<std::uint32_t>(gps_s - kGpsOf2000_s));
}

}  // namespace apsyn
