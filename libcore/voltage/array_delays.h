// SPDX-License-Identifier: GPL-3.0-or-later
// How far an array's delays reach, before anything is known of directions.
#pragma once

#include <cstdint>

#include "libcore/voltage/voltage.h"

namespace apsyn {

/// The longest baseline of all antennas. Flagged ones count, because they are delayed like the others.
double longest_baseline_m(const ArrayLayout& layout);
/// c / freq_hz over the diagonal of the box that holds all antennas: no fringe is finer. Infinite for one
/// antenna.
double finest_fringe_rad(const ArrayLayout& layout, double freq_hz);

/// Samples that delays can shift by, in both directions together: geometry of either sign, and cables.
/// UsageError when that is absurd.
std::int64_t delay_reach(const VoltageHeader& header, const ArrayLayout& layout);

/// What a range of a stream needs besides, so that its spectra are those of the whole stream: delays, and the
/// taps of a filterbank of n_fine channels.
std::int64_t range_margin(const VoltageHeader& header, const ArrayLayout& layout, std::size_t n_fine,
                          std::size_t n_taps);

/// What a signal loses of its amplitude while its phase turns by `turns`, evenly: 1 - sinc(turns).
double winding_loss(double turns);

}  // namespace apsyn
