// SPDX-License-Identifier: GPL-3.0-or-later
// Images of noise with the correlation of a Gaussian beam, steady sources and dispersed pulses in them, and
// what the best filter that knows the noise and the sky finds there. All in float64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace apsyn::reference {

struct ImagePulse {
  double begin = 0;          ///< frames, at the centre of the highest channel
  double dm = 0, width = 1;  ///< pc cm^-3; frames
  double x = 0, y = 0;       ///< pixels
  double peak = 1;           ///< in a channel and frame, in units of the noise
};

struct PulsedImages {
  std::size_t nx = 64, ny = 48, n_chan = 16, n_frame = 320;
  double first_hz = 149.4e6, step_hz = 80e3, frame_s = 0.02;
  double beam_pixels = 4;  ///< full width at half maximum
  std::uint64_t seed = 1;
  std::vector<ImagePulse> pulses;
  double noise = 1;  ///< of every pixel and channel
  double drift = 0;  ///< of the steady sources, per frame
  double sky = 50;   ///< brightest of the steady sources

  double delay_frames(std::size_t chan, double dm) const;
  /// Frame t, [chan][y][x].
  std::vector<float> frame(std::size_t t) const;
  /// The same without noise and without pulses.
  double steady(std::size_t x, std::size_t y, std::size_t t) const;
  double beam(double dx, double dy) const;
};

/// The largest signal-to-noise ratio over pixels at most two from the pulse, windows of 1 to 2 ceil(width) +
/// 2 frames near it, and dispersion measures in 16 steps about its own, where `frames` are all of `images`.
double best_signal_to_noise(const PulsedImages& images, const std::vector<std::vector<float>>& frames,
                            const ImagePulse& pulse, double dm_reach);

}  // namespace apsyn::reference
