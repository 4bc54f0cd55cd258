// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>

namespace apsyn {

/// One channel's way to int8: round((x - level - slope * (t - middle)) * scale - common[t]), within +-127.
struct NormaliseRun {
  float level = 0, slope = 0, scale = 1;
  float first = 0;                ///< t - middle of the first sample
  const float* common = nullptr;  ///< or null
};

/// Not finite becomes 0. Returns how many were beyond +-127.
std::size_t normalise(const float* samples, std::size_t n, const NormaliseRun& run, std::int8_t* out);
/// to[t] += from[t].
void accumulate(const std::int8_t* from, std::size_t n, float* to);

}  // namespace apsyn
