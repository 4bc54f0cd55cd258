// SPDX-License-Identifier: GPL-3.0-or-later
// Packets of the F-engine of BEST-2 (Magro et al. 2014): 128 spectra of one channel of 32 antennas.
#pragma once

#include <memory>

#include "libcore/formats/capture/capture.h"

namespace apsyn {

std::unique_ptr<Capture> open_best2(const CaptureRequest& request);

}  // namespace apsyn
