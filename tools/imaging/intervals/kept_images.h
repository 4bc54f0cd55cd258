// SPDX-License-Identifier: GPL-3.0-or-later
// Images of intervals of time from visibilities that a GPU keeps.
#pragma once

#include <span>
#include <vector>

#include "tools/imaging/imager.h"
#include "tools/imaging/intervals/images.h"

namespace apsyn::imaging {

/// Distinct times of rows with a time, rising, as integration_times() has them.
std::vector<double> times_of_runs(const std::vector<KeptRun>& runs);

/// The runs of each interval; those that follow each other on the device are one.
std::vector<std::vector<KeptRun>> runs_of_intervals(const std::vector<KeptRun>& runs,
                                                    std::span<const TimeInterval> intervals);

/// make_interval_images() of what own.kept holds: it is weighted there, once, and each worker has the rows of
/// one interval after the other gridded.
void make_kept_interval_images(Imager& imager, PreparedGroup& own, const std::vector<Field>& fields,
                               std::span<const TimeInterval> intervals, const TakeIntervalImages& take);

}  // namespace apsyn::imaging
