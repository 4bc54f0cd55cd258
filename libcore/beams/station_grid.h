// SPDX-License-Identifier: GPL-3.0-or-later
// Beams of all stations of an array for the pixels of an image, in single precision.
#pragma once

#include <complex>
#include <span>
#include <vector>

#include "libcore/base/view.h"
#include "libcore/beams/station.h"

namespace apsyn {

/// jones[station][y][x] := jones left[station] J, with J as station_response() has it, within some 1e-6 of
/// the beam's peak. `sky` [y][x]. The result does not depend on n_threads.
void multiply_station_beams(const StationArray& array, BeamPart part, const ElementResponses& elements,
                            const StationPointing& at, View<const SkyVector, 2> sky,
                            std::span<const Jones> left, unsigned n_threads,
                            View<std::complex<float>, 4> jones);

}  // namespace apsyn
