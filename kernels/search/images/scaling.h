// SPDX-License-Identifier: GPL-3.0-or-later
// What the light curves of a machine and of a device have in common: how values are stored, and the equations
// of light_curves.h for a single pixel and channel.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.h"

namespace apsyn {

inline constexpr std::size_t kTilePixels = 64;
/// Pixels that lie side by side on a device.
inline constexpr std::size_t kDeviceTilePixels = 16;
/// A pixel without a value, until it is normalised.
inline constexpr std::int16_t kBlankPixel = -32768;
inline constexpr float kStepsPerNoise = 8;

/// What becomes of a channel of a new frame.
struct ChannelUse {
  bool missing = true;
  bool is_reference = false;  ///< the first image of a channel: its finite pixels are its own reference
  float step = 0;             ///< of a stored value, in units of the image
};

/// Levels of two pieces, between whose middles frames lie, as slots of the means around each.
struct Levels {
  static constexpr int kNoSlot = -1;
  std::array<int, 5> from{}, to{};
  bool is_line = true;  ///< false: all frames have the level `from`
};

/// Clipping at three standard deviations leaves this part of a normal variance.
inline constexpr float kClippedVariance = 0.9733f;
/// The noise of a channel is clipped once. That of a pixel's band is clipped again, until the wings of a
/// bright pulse are gone, too: a pulsar that is in every piece would be lost in its own noise, and be found
/// in its sidelobes.
inline constexpr int kChannelClippings = 1, kBandClippings = 3;

/// Values that tell a mean and a variance, of n frames.
APSYN_HOST_DEVICE float min_frames(std::size_t n) {
  return static_cast<float>(n / 4 > 4 ? n / 4 : 4);
}

/// What equation (1) of light_curves.h becomes where not all of the four means around a piece are known;
/// NaN for those that are not. `near[2]` is its own.
APSYN_HOST_DEVICE float level_of_some(const float near[5]) {
  const auto known = [&](int i) { return !std::isnan(near[i]); };
  if (known(1) && known(3)) return (near[1] + near[3]) / 2;
  // values of the line through three pieces at the first, or last, of them
  if (known(2) && known(3) && known(4)) return (5 * near[2] + 2 * near[3] - near[4]) / 6;
  if (known(2) && known(1) && known(0)) return (5 * near[2] + 2 * near[1] - near[0]) / 6;
  float sum = 0, n = 0;
  for (int i = 0; i < 5; ++i)
    if (known(i)) sum += near[i], ++n;
  return n > 0 ? sum / n : NAN;
}

/// The mean of the middle two of four; NaN where one of them is.
APSYN_HOST_DEVICE float mean_of_middle(float a, float b, float c, float d) {
  const float ab_low = b < a ? b : a, ab_high = a < b ? b : a;
  const float cd_low = d < c ? d : c, cd_high = c < d ? d : c;
  const float low = cd_low < ab_low ? cd_low : ab_low, high = ab_high < cd_high ? cd_high : ab_high;
  return (a + b + c + d - low - high) / 2;
}

/// What makes a stored value q, in steps about a reference, a multiple of 1/8 of the noise:
/// scale q + offset + slope f, f running from 0 at the middle of a piece to 1 at that of the next.
struct PixelScale {
  float scale = 0, offset = 0, slope = 0;
};
/// `from` and `to` are the levels at f of 0 and 1, NaN where they are not known.
APSYN_HOST_DEVICE PixelScale pixel_scale(float noise, float step, float reference, float from, float to) {
  const bool known = noise > 0 && !std::isnan(from) && !std::isnan(to);
  const float per = known ? kStepsPerNoise / noise : 0;
  PixelScale s;
  s.scale = per * step;
  s.offset = known ? per * (reference - from) : 0;
  s.slope = known ? -per * (to - from) : 0;
  return s;
}

}  // namespace apsyn
