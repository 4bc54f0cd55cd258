// SPDX-License-Identifier: GPL-3.0-or-later
// Samples of a source and noise, and what float64 makes of them.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/epic/epic.h"

namespace apsyn::bench {

/// Noise and one source, [time][chan][input], re in the high nibble.
Buffer<std::uint8_t, 3> make_samples(const EpicPlan& plan, const std::vector<Vec3>& enu_m,
                                     std::size_t n_spectra);

/// The largest deviation from float64 of a few pixels of one channel, over the largest of them, the source,
/// and the RMS of deviations over that of the pixels.
struct Deviation {
  double of_peak = 0, rms = 0;
};
Deviation deviation(const Buffer<std::uint8_t, 3>& samples, const EpicPlan& plan,
                    const EpicGeometry& geometry, const EpicImages& images, std::size_t chan);

}  // namespace apsyn::bench
