// SPDX-License-Identifier: GPL-3.0-or-later
// Regions of images whose light curves are wanted.
#pragma once

#include <cstdint>
#include <vector>

#include "libcore/base/units.h"
#include "tools/epic-image/setup.h"

namespace apsyn {

/// [region] its pixels y * nx + x, in images about a centre. A region that is taken away is so from all
/// before it.
std::vector<std::vector<std::uint32_t>> region_pixels(const EpicSetup& setup, const SkyDirection& centre);

/// Whether the planes that are written are those that are imaged, so that an imager can measure regions.
bool measures_regions(const EpicSetup& setup);

}  // namespace apsyn
