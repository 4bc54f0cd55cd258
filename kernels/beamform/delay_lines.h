// SPDX-License-Identifier: GPL-3.0-or-later
// Delays of moving beams as straight lines, for a device that makes weights of them.
#pragma once

#include <cstdint>

#include "kernels/beamform/beamform.h"

namespace apsyn {

/// Lines through the delays at the middles of the steering intervals `first` and first + span, a multiple of
/// 4: delay_s and slope_s for an interval, both [beam][ant]. Returns the most that delays of parabolas and
/// cubics are off in between, s, by those at a quarter and at three quarters: at one of them a parabola's and
/// a cubic's parts add up, of at least 3/4 of their largest. The middle is exact where delays turn over, as
/// those of an east-west array do for all antennas at once.
double fit_delay_lines(const BeamformPlan& plan, BeamDelaySource& delays, std::int64_t first,
                       std::int64_t span, double* delay_s, double* slope_s);

}  // namespace apsyn
