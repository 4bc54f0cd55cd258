// SPDX-License-Identifier: GPL-3.0-or-later
// The receivers' streams of the MWA prototype (Wayth, Greenhill & Briggs, PASP 121, 857, section 3): frames
// of a marker and one word for each of 16 inputs (8 antennas, 2 polarisations), one stream for each receiver.
// Receivers follow each other in the order of the inputs, so that four of them make 32 antennas.
#pragma once

#include <memory>

#include "libcore/formats/capture/capture.h"

namespace apsyn {

std::unique_ptr<Capture> open_mwa32t(const CaptureRequest& request);

}  // namespace apsyn
