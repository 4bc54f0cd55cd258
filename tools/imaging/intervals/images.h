// SPDX-License-Identifier: GPL-3.0-or-later
// Images of many intervals of time, made as intervals/plan.h has it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "libcore/imaging/intervals.h"
#include "tools/imaging/field.h"
#include "tools/imaging/imager.h"

namespace apsyn::imaging {

/// Takes the images [field] of an interval, and may move them away. Any of the plan's workers calls it.
using TakeIntervalImages = std::function<void(std::size_t interval, std::vector<GroupImages>& images)>;

/// Calls take() once for each interval of which `source` has rows, after plan_intervals(). Images do not
/// depend on the number of threads, nor on which interval a gridder served before.
void make_interval_images(Imager& imager, PreparedGroup& own, const std::vector<Field>& fields,
                          ImagingSource& source, std::span<const TimeInterval> intervals,
                          const TakeIntervalImages& take);

}  // namespace apsyn::imaging
