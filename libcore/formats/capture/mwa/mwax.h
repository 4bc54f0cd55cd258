// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>

#include "libcore/formats/capture/capture.h"

namespace apsyn {

/// Sub-files of the MWAX correlator's capture: sub-observations of coarse channels, one after the other, the
/// channels beside each other.
std::unique_ptr<Capture> open_mwax(const CaptureRequest& request);

}  // namespace apsyn
