// SPDX-License-Identifier: GPL-3.0-or-later
// What an element receives from the sky's north and east over the pixels of a grid. For libcore/beams only.
#pragma once

#include "libcore/base/view.h"
#include "libcore/beams/station.h"

namespace apsyn {

/// E R of a field's axes as `planes` [X north, X east, Y north, Y east][re, im][pixel], for as many pixels as
/// `sky` has, rounded up to kLanes.
void fill_element_field(const Mat3& axes, StationKind kind, const ElementResponse& element,
                        View<const SkyVector, 1> sky, Buffer<float, 3>& planes);

}  // namespace apsyn
