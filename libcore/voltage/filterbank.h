// SPDX-License-Identifier: GPL-3.0-or-later
// The filterbank that divides a channel (kernels/channelise/pfb.h has the equations).
#pragma once

#include <cstddef>

namespace apsyn {

enum class Window { hann, hamming, rect };

struct Filterbank {
  std::size_t n_taps = 0;  ///< 0 = a plain transform
  Window window = Window::hann;
};

inline constexpr std::size_t kMaxTaps = 64;

}  // namespace apsyn
