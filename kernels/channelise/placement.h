// SPDX-License-Identifier: GPL-3.0-or-later
// Where a spectrum's samples stand in a window of samples, and how it is turned (channelise.h).
#pragma once

#include <cstdint>

namespace apsyn {

inline constexpr std::int32_t kNoWeight = INT32_MIN;

struct Placement {
  double delay_s = 0;              ///< tau
  float slope_s = 0;               ///< tau - k T
  std::int32_t start = kNoWeight;  ///< first sample, counted from the window's; kNoWeight = not to be used
};

}  // namespace apsyn
